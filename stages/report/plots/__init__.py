"""Drawings as SVG: their elements, axes and layouts."""
