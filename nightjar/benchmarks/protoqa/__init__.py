"""ProtoQA (Boratko et al. 2020): ranked lists of answers, scored against clusters of the answers that people gave."""
