"""Names of environment variables that the drivers read."""

# What no stage needs: the address of the webhook, and the password of the database.
WEBHOOK, PASSWORD = SECRETS = ("NIGHTJAR_WEBHOOK", "PGPASSWORD")
