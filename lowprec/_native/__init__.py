"""The compiled loops: functions of one element, loops over them, one module for each instruction set."""
