"""Makes the weights ready once: found, checked against their pinned sha256, and saved as safetensors."""
