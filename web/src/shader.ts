// The automaton's shader: the lab's own files, joined in the lab's order (lab/src/experiments/maze/device.rs).

import branches from "../../lab/shaders/maze/branches.wgsl?raw";
import cells from "../../lab/shaders/maze/cells.wgsl?raw";
import frames from "../../lab/shaders/maze/frames.wgsl?raw";
import selects from "../../lab/shaders/maze/selects.wgsl?raw";

export const shader = cells + branches + selects + frames;
