# Made by `make stub` from the tables of exports: not to be edited.
from flowc.api.framework.timeline import Timeline as Timeline

