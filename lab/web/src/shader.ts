// The automaton's shader: the lab's own files, joined in the lab's order (lab/src/experiments/maze/device.rs).

import branches from "../../shaders/maze/branches.wgsl?raw";
import cells from "../../shaders/maze/cells.wgsl?raw";
import frames from "../../shaders/maze/frames.wgsl?raw";
import selects from "../../shaders/maze/selects.wgsl?raw";

export const shader = cells + branches + selects + frames;
