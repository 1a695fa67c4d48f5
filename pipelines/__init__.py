"""When and where Nightjar's stages run: Prefect flows over the DVC graph, and the command line."""
