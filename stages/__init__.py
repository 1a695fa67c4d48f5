"""Stages of the graph: plain functions from tables to tables, one folder a stage."""
