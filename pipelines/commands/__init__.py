"""The subcommands of `nightjar`, one module each; only these import stages."""
