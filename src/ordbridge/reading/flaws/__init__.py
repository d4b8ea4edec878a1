"""What can be wrong with ratings: one module per kind of mistake, one function per problem."""

from ordbridge.reading.flaws.design import design_flaws
from ordbridge.reading.flaws.labels import label_flaws
from ordbridge.reading.flaws.people import people_flaws
from ordbridge.reading.flaws.scale import scale_flaws

__all__ = ["design_flaws", "label_flaws", "people_flaws", "scale_flaws"]
