#version 300 es

precision highp float;
precision highp int;

struct Frame {
    uint width;
    uint height;
    uint number;
    uint seed;
    uint chance;
    uint finish;
    uint report;
    uint unused;
};
struct Around {
    uint up;
    uint right;
    uint down;
    uint left;
};
const uint FLOOR = 0u;
const uint WALL = 1u;
const uint HEAD = 2u;
const uint RESERVED = 3u;
const uint OPEN = 4u;
const uint DOT = 5u;
const uint CLAIMED = 6u;
const uint FILLED = 7u;
const uint ALL_SIDES = 15u;
const uint HAS_PARENT = 2048u;
const uint PARENTAGE = 3584u;
const uint TRAIL = 4096u;
const uint NOBODY = 4u;

layout(std140) uniform Frame_block_0Fragment { Frame _group_0_binding_2_fs; };

uniform highp usampler2D _group_0_binding_0_fs;

uniform highp usampler2D _group_0_binding_1_fs;

layout(location = 0) out uint _fs2p_location0;

uint kind(uint cell) {
    return (cell & 7u);
}

uint direction(uint cell_1) {
    return ((cell_1 >> 3u) & 3u);
}

uint opposite(uint side) {
    return ((side + 2u) & 3u);
}

uint parent(uint cell_2) {
    return (((cell_2 & HAS_PARENT) != 0u) ? ((cell_2 >> 9u) & 3u) : NOBODY);
}

uint towards(uint what, uint side_1) {
    return (what | (side_1 << 3u));
}

bool is_just(uint cell_3, uint what_1, uint side_2) {
    uint _e5 = towards(what_1, side_2);
    return ((cell_3 & 31u) == _e5);
}

uint sides(bool up, bool right, bool down, bool left) {
    return ((((up ? 1u : 0u) | (right ? 2u : 0u)) | (down ? 4u : 0u)) | (left ? 8u : 0u));
}

bool is_finishing() {
    uint _e2 = _group_0_binding_2_fs.number;
    uint _e5 = _group_0_binding_2_fs.finish;
    return (_e2 >= _e5);
}

bool is_border(uint x, uint y) {
    bool local = false;
    bool local_1 = false;
    bool local_2 = false;
    if (!((x == 0u))) {
        local = (y == 0u);
    } else {
        local = true;
    }
    bool _e10 = local;
    if (!(_e10)) {
        uint _e16 = _group_0_binding_2_fs.width;
        local_1 = (x == (_e16 - 1u));
    } else {
        local_1 = true;
    }
    bool _e21 = local_1;
    if (!(_e21)) {
        uint _e27 = _group_0_binding_2_fs.height;
        local_2 = (y == (_e27 - 1u));
    } else {
        local_2 = true;
    }
    bool _e32 = local_2;
    return _e32;
}

bool is_start(uint x_1, uint y_1) {
    bool local_3 = false;
    if ((x_1 == 1u)) {
        local_3 = (y_1 == 1u);
    } else {
        local_3 = false;
    }
    bool _e9 = local_3;
    return _e9;
}

bool is_goal(uint x_2, uint y_2) {
    bool local_4 = false;
    uint _e4 = _group_0_binding_2_fs.width;
    if ((x_2 == (_e4 - 2u))) {
        uint _e12 = _group_0_binding_2_fs.height;
        local_4 = (y_2 == (_e12 - 2u));
    } else {
        local_4 = false;
    }
    bool _e17 = local_4;
    return _e17;
}

uint cell_at(uint x_3, uint y_3) {
    bool local_5 = false;
    uint _e4 = _group_0_binding_2_fs.width;
    if (!((x_3 >= _e4))) {
        uint _e11 = _group_0_binding_2_fs.height;
        local_5 = (y_3 >= _e11);
    } else {
        local_5 = true;
    }
    bool _e14 = local_5;
    if (_e14) {
        return WALL;
    }
    uvec4 _e19 = texelFetch(_group_0_binding_0_fs, ivec2(uvec2(x_3, y_3)), 0);
    return _e19.x;
}

Around look_around(uint x_4, uint y_4) {
    uint _e4 = cell_at(x_4, (y_4 - 1u));
    uint _e7 = cell_at((x_4 + 1u), y_4);
    uint _e10 = cell_at(x_4, (y_4 + 1u));
    uint _e13 = cell_at((x_4 - 1u), y_4);
    return Around(_e4, _e7, _e10, _e13);
}

uint free_sides(Around n) {
    uint _e2 = kind(n.up);
    uint _e6 = kind(n.right);
    uint _e10 = kind(n.down);
    uint _e14 = kind(n.left);
    uint _e17 = sides((_e2 == FLOOR), (_e6 == FLOOR), (_e10 == FLOOR), (_e14 == FLOOR));
    return _e17;
}

uint sides_coming(Around n_1, uint what_2) {
    bool _e4 = is_just(n_1.up, what_2, 2u);
    bool _e7 = is_just(n_1.right, what_2, 3u);
    bool _e10 = is_just(n_1.down, what_2, 0u);
    bool _e13 = is_just(n_1.left, what_2, 1u);
    uint _e14 = sides(_e4, _e7, _e10, _e13);
    return _e14;
}

bool is_passage(uint cell_4) {
    uint _e1 = kind(cell_4);
    return (_e1 >= OPEN);
}

bool is_way(uint cell_5) {
    bool local_6 = false;
    uint _e1 = kind(cell_5);
    if ((_e1 >= OPEN)) {
        uint _e6 = kind(cell_5);
        local_6 = (_e6 != FILLED);
    } else {
        local_6 = false;
    }
    bool _e10 = local_6;
    return _e10;
}

bool is_new(uint cell_6) {
    bool local_7 = false;
    bool local_8 = false;
    uint _e1 = kind(cell_6);
    if (!((_e1 == OPEN))) {
        uint _e7 = kind(cell_6);
        local_7 = (_e7 == CLAIMED);
    } else {
        local_7 = true;
    }
    bool _e11 = local_7;
    if (_e11) {
        local_8 = ((cell_6 & HAS_PARENT) == 0u);
    } else {
        local_8 = false;
    }
    bool _e19 = local_8;
    return _e19;
}

bool leads(uint neighbour, uint side_3) {
    bool local_9 = false;
    if (((neighbour & TRAIL) != 0u)) {
        uint _e8 = parent(neighbour);
        uint _e9 = opposite(side_3);
        local_9 = (_e8 == _e9);
    } else {
        local_9 = false;
    }
    bool _e12 = local_9;
    return _e12;
}

bool is_led(Around n_2) {
    bool local_10 = false;
    bool local_11 = false;
    bool local_12 = false;
    bool _e3 = leads(n_2.up, 0u);
    if (!(_e3)) {
        bool _e9 = leads(n_2.right, 1u);
        local_10 = _e9;
    } else {
        local_10 = true;
    }
    bool _e11 = local_10;
    if (!(_e11)) {
        bool _e17 = leads(n_2.down, 2u);
        local_11 = _e17;
    } else {
        local_11 = true;
    }
    bool _e19 = local_11;
    if (!(_e19)) {
        bool _e25 = leads(n_2.left, 3u);
        local_12 = _e25;
    } else {
        local_12 = true;
    }
    bool _e27 = local_12;
    return _e27;
}

uint onward(uint entered) {
    uint _e3 = parent(entered);
    return (ALL_SIDES & ~(((1u << _e3) & ALL_SIDES)));
}

uint ways_of(Around n_3) {
    bool _e2 = is_way(n_3.up);
    bool _e4 = is_way(n_3.right);
    bool _e6 = is_way(n_3.down);
    bool _e8 = is_way(n_3.left);
    uint _e9 = sides(_e2, _e4, _e6, _e8);
    return _e9;
}

uint new_of(Around n_4) {
    bool _e2 = is_new(n_4.up);
    bool _e4 = is_new(n_4.right);
    bool _e6 = is_new(n_4.down);
    bool _e8 = is_new(n_4.left);
    uint _e9 = sides(_e2, _e4, _e6, _e8);
    return _e9;
}

uint any_of_branches(uint choice, uint word) {
    uint skipped = 0u;
    uint side_4 = 0u;
    skipped = (((word >> 16u) * uint(bitCount(choice))) >> 16u);
    bool loop_init = true;
    while(true) {
        if (!loop_init) {
            uint _e28 = side_4;
            side_4 = (_e28 + 1u);
        }
        loop_init = false;
        uint _e11 = side_4;
        if ((_e11 < 4u)) {
        } else {
            break;
        }
        {
            uint _e15 = side_4;
            if (((choice & (1u << _e15)) != 0u)) {
                uint _e20 = skipped;
                if ((_e20 == 0u)) {
                    uint _e23 = side_4;
                    return _e23;
                }
                uint _e25 = skipped;
                skipped = (_e25 - 1u);
            }
        }
    }
    return 0u;
}

uint choose_branches(uint choice_1, uint word_1) {
    bool _e2 = is_finishing();
    if (_e2) {
        uint _e5 = _group_0_binding_2_fs.number;
        uint turn = ((_e5 >> 1u) & 3u);
        return ((turn + min(uint(findLSB((((choice_1 | (choice_1 << 4u)) >> turn) | 16u))), 32u)) & 3u);
    }
    uint _e20 = any_of_branches(choice_1, word_1);
    return _e20;
}

uint beside_branches(Around n_5, uint side_5) {
    switch(side_5) {
        case 0u: {
            return n_5.up;
        }
        case 1u: {
            return n_5.right;
        }
        case 2u: {
            return n_5.down;
        }
        default: {
            return n_5.left;
        }
    }
}

uint slot_branches(bool is_level, uint cell_7, Around n_6) {
    uint first = 0u;
    uint second = 0u;
    uint forth = 2u;
    bool local_13 = false;
    bool local_14 = false;
    bool local_15 = false;
    uint toward = 0u;
    bool local_16 = false;
    first = n_6.up;
    second = n_6.down;
    if (is_level) {
        first = n_6.left;
        second = n_6.right;
        forth = 1u;
    }
    uint _e12 = forth;
    uint _e13 = opposite(_e12);
    uint _e14 = kind(cell_7);
    if ((_e14 == FLOOR)) {
        uint _e17 = first;
        uint _e19 = forth;
        bool _e20 = is_just(_e17, HEAD, _e19);
        if (_e20) {
            uint _e23 = second;
            uint _e24 = kind(_e23);
            local_13 = (_e24 == FLOOR);
        } else {
            local_13 = false;
        }
        bool _e28 = local_13;
        if (_e28) {
            uint _e30 = forth;
            uint _e31 = towards(RESERVED, _e30);
            return _e31;
        }
        uint _e32 = second;
        bool _e34 = is_just(_e32, HEAD, _e13);
        if (_e34) {
            uint _e37 = first;
            uint _e38 = kind(_e37);
            local_14 = (_e38 == FLOOR);
        } else {
            local_14 = false;
        }
        bool _e42 = local_14;
        if (_e42) {
            uint _e44 = towards(RESERVED, _e13);
            return _e44;
        }
        uint _e45 = first;
        uint _e46 = kind(_e45);
        if ((_e46 != FLOOR)) {
            uint _e51 = second;
            uint _e52 = kind(_e51);
            local_15 = (_e52 != FLOOR);
        } else {
            local_15 = false;
        }
        bool _e56 = local_15;
        if (_e56) {
            return OPEN;
        }
        return FLOOR;
    }
    uint _e59 = kind(cell_7);
    if ((_e59 == RESERVED)) {
        uint _e62 = direction(cell_7);
        uint _e63 = first;
        toward = _e63;
        uint _e65 = forth;
        if ((_e62 == _e65)) {
            uint _e67 = second;
            toward = _e67;
        }
        uint _e68 = toward;
        uint _e69 = kind(_e68);
        if ((_e69 != FLOOR)) {
            uint _e74 = toward;
            uint _e75 = parent(_e74);
            uint _e76 = opposite(_e62);
            local_16 = (_e75 == _e76);
        } else {
            local_16 = false;
        }
        bool _e79 = local_16;
        if (_e79) {
            return WALL;
        }
        return FLOOR;
    }
    return cell_7;
}

uvec4 made_here(uint x_5, uint y_5) {
    uvec4 v = uvec4(0u);
    uint _e4 = _group_0_binding_2_fs.number;
    uint _e7 = _group_0_binding_2_fs.seed;
    v = ((uvec4(x_5, y_5, _e4, _e7) * 1664525u) + uvec4(1013904223u));
    uint _e16 = v.x;
    uint _e18 = v.y;
    uint _e20 = v.w;
    v.x = (_e16 + (_e18 * _e20));
    uint _e24 = v.y;
    uint _e26 = v.z;
    uint _e28 = v.x;
    v.y = (_e24 + (_e26 * _e28));
    uint _e32 = v.z;
    uint _e34 = v.x;
    uint _e36 = v.y;
    v.z = (_e32 + (_e34 * _e36));
    uint _e40 = v.w;
    uint _e42 = v.y;
    uint _e44 = v.z;
    v.w = (_e40 + (_e42 * _e44));
    uvec4 _e47 = v;
    uvec4 _e48 = v;
    v = (_e47 ^ (_e48 >> uvec4(16u)));
    uint _e54 = v.x;
    uint _e56 = v.y;
    uint _e58 = v.w;
    v.x = (_e54 + (_e56 * _e58));
    uint _e62 = v.y;
    uint _e64 = v.z;
    uint _e66 = v.x;
    v.y = (_e62 + (_e64 * _e66));
    uint _e70 = v.z;
    uint _e72 = v.x;
    uint _e74 = v.y;
    v.z = (_e70 + (_e72 * _e74));
    uint _e78 = v.w;
    uint _e80 = v.y;
    uint _e82 = v.z;
    v.w = (_e78 + (_e80 * _e82));
    uvec4 _e85 = v;
    return _e85;
}

uvec4 random(uint x_6, uint y_6) {
    uint _e4 = _group_0_binding_2_fs.unused;
    if ((_e4 != 0u)) {
        uvec4 _e10 = texelFetch(_group_0_binding_1_fs, ivec2(uvec2(x_6, y_6)), 0);
        return _e10;
    }
    uvec4 _e11 = made_here(x_6, y_6);
    return _e11;
}

uint pillar_branches(uint x_7, uint y_7, uint cell_8, Around n_7) {
    bool local_17 = false;
    uint keep = (cell_8 & PARENTAGE);
    uint _e6 = kind(cell_8);
    if ((_e6 == FLOOR)) {
        uint _e10 = sides_coming(n_7, RESERVED);
        if ((_e10 == 0u)) {
            return cell_8;
        }
        uvec4 _e13 = random(x_7, y_7);
        uint _e15 = choose_branches(_e10, _e13.x);
        uint _e22 = choose_branches((ALL_SIDES & ~((1u << _e15))), _e13.y);
        uint _e24 = towards(HEAD, _e22);
        return (((_e24 | (1u << (_e15 + 5u))) | (_e15 << 9u)) | HAS_PARENT);
    }
    uint _e35 = kind(cell_8);
    if ((_e35 == HEAD)) {
        uint _e38 = direction(cell_8);
        uint _e39 = beside_branches(n_7, _e38);
        bool _e41 = is_just(_e39, RESERVED, _e38);
        if (_e41) {
            return (WALL | keep);
        }
        uint _e52 = free_sides(n_7);
        uint tried = ((((cell_8 >> 5u) & ALL_SIDES) | (1u << _e38)) | (ALL_SIDES & ~(_e52)));
        if ((tried == ALL_SIDES)) {
            return (WALL | keep);
        }
        uvec4 _e64 = random(x_7, y_7);
        uint _e66 = choose_branches((ALL_SIDES & ~(tried)), _e64.y);
        uint _e67 = towards(HEAD, _e66);
        return ((_e67 | (tried << 5u)) | keep);
    }
    uint _e72 = kind(cell_8);
    if ((_e72 != WALL)) {
        return cell_8;
    }
    uint _e75 = free_sides(n_7);
    if ((_e75 == 0u)) {
        return cell_8;
    }
    uvec4 _e78 = random(x_7, y_7);
    bool _e79 = is_finishing();
    if (!(_e79)) {
        uint _e88 = _group_0_binding_2_fs.chance;
        local_17 = ((_e78.z >> 16u) >= _e88);
    } else {
        local_17 = false;
    }
    bool _e91 = local_17;
    if (_e91) {
        return cell_8;
    }
    uint _e94 = choose_branches(_e75, _e78.y);
    uint _e95 = towards(HEAD, _e94);
    return ((_e95 | ((ALL_SIDES & ~(_e75)) << 5u)) | keep);
}

uint grow_by_branches(uint x_8, uint y_8, uint cell_9, Around n_8) {
    bool local_18 = false;
    uint _e6 = _group_0_binding_2_fs.number;
    if (((_e6 & 1u) == 0u)) {
        if (!((((x_8 ^ y_8) & 1u) == 0u))) {
            bool _e19 = is_border(x_8, y_8);
            local_18 = _e19;
        } else {
            local_18 = true;
        }
        bool _e21 = local_18;
        if (_e21) {
            return cell_9;
        }
        uint _e26 = slot_branches(((x_8 & 1u) == 1u), cell_9, n_8);
        return _e26;
    }
    if ((((x_8 | y_8) & 1u) == 1u)) {
        return cell_9;
    }
    uint _e32 = pillar_branches(x_8, y_8, cell_9, n_8);
    return _e32;
}

uint fill_by_branches(uint x_9, uint y_9, uint cell_10, Around n_9) {
    bool local_19 = false;
    bool local_20 = false;
    uint open = 0u;
    uint _e4 = kind(cell_10);
    if (!((_e4 != OPEN))) {
        bool _e10 = is_start(x_9, y_9);
        local_19 = _e10;
    } else {
        local_19 = true;
    }
    bool _e12 = local_19;
    if (!(_e12)) {
        bool _e16 = is_goal(x_9, y_9);
        local_20 = _e16;
    } else {
        local_20 = true;
    }
    bool _e18 = local_20;
    if (_e18) {
        return cell_10;
    }
    uint _e22 = kind(n_9.up);
    if ((_e22 == OPEN)) {
        uint _e26 = open;
        open = (_e26 + 1u);
    }
    uint _e29 = kind(n_9.right);
    if ((_e29 == OPEN)) {
        uint _e33 = open;
        open = (_e33 + 1u);
    }
    uint _e36 = kind(n_9.down);
    if ((_e36 == OPEN)) {
        uint _e40 = open;
        open = (_e40 + 1u);
    }
    uint _e43 = kind(n_9.left);
    if ((_e43 == OPEN)) {
        uint _e47 = open;
        open = (_e47 + 1u);
    }
    uint _e49 = open;
    if ((_e49 <= 1u)) {
        return FILLED;
    }
    return cell_10;
}

uint let_in_branches(uint x_10, uint y_10, uint cell_11, Around n_10) {
    uint _e4 = kind(cell_11);
    if ((_e4 != OPEN)) {
        return cell_11;
    }
    uint _e8 = sides_coming(n_10, DOT);
    if ((_e8 == 0u)) {
        return cell_11;
    }
    uvec4 _e12 = random(x_10, y_10);
    uint _e14 = any_of_branches(_e8, _e12.x);
    uint _e15 = towards(CLAIMED, _e14);
    return (_e15 | (cell_11 & 7680u));
}

uint dot_branches(uint x_11, uint y_11, uint entered_1, Around n_11, uint shunned) {
    bool local_21 = false;
    uint choice_2 = 0u;
    uint _e5 = ways_of(n_11);
    uint _e6 = onward(entered_1);
    uint ways = (_e5 & _e6);
    if ((ways == 0u)) {
        uint _e12 = parent(entered_1);
        local_21 = (_e12 != NOBODY);
    } else {
        local_21 = false;
    }
    bool _e16 = local_21;
    if (_e16) {
        uint _e18 = parent(entered_1);
        uint _e19 = towards(DOT, _e18);
        return (_e19 | entered_1);
    }
    uint _e21 = new_of(n_11);
    uint _e22 = onward(entered_1);
    choice_2 = ((_e21 & _e22) & ~(shunned));
    uint _e27 = choice_2;
    if ((_e27 == 0u)) {
        choice_2 = (ways & ~(shunned));
    }
    uint _e32 = choice_2;
    if ((_e32 == 0u)) {
        choice_2 = ways;
    }
    uint _e36 = choice_2;
    uvec4 _e37 = random(x_11, y_11);
    uint _e39 = any_of_branches(_e36, _e37.y);
    uint _e40 = towards(DOT, _e39);
    return (_e40 | entered_1);
}

uint move_on_branches(uint x_12, uint y_12, uint cell_12, Around n_12) {
    uint entered_2 = 0u;
    bool local_22 = false;
    bool local_23 = false;
    bool local_24 = false;
    uint keep_1 = (cell_12 & 7680u);
    uint _e6 = direction(cell_12);
    uint _e7 = kind(cell_12);
    if ((_e7 == CLAIMED)) {
        entered_2 = keep_1;
        uint _e11 = parent(cell_12);
        if ((_e11 == NOBODY)) {
            bool _e16 = is_start(x_12, y_12);
            local_22 = !(_e16);
        } else {
            local_22 = false;
        }
        bool _e19 = local_22;
        if (_e19) {
            entered_2 = ((keep_1 | (_e6 << 9u)) | HAS_PARENT);
        }
        bool _e25 = is_goal(x_12, y_12);
        if (_e25) {
            uint _e27 = entered_2;
            return ((OPEN | _e27) | TRAIL);
        }
        uint _e31 = entered_2;
        uint _e33 = dot_branches(x_12, y_12, _e31, n_12, 0u);
        return _e33;
    }
    uint _e34 = kind(cell_12);
    if ((_e34 == DOT)) {
        uint _e37 = parent(cell_12);
        if ((_e37 == _e6)) {
            return (FILLED | keep_1);
        }
        uint _e41 = beside_branches(n_12, _e6);
        uint _e43 = opposite(_e6);
        bool _e44 = is_just(_e41, CLAIMED, _e43);
        if (_e44) {
            return (OPEN | keep_1);
        }
        uint _e49 = dot_branches(x_12, y_12, keep_1, n_12, (1u << _e6));
        return _e49;
    }
    uint _e50 = kind(cell_12);
    if ((_e50 == OPEN)) {
        bool _e55 = is_start(x_12, y_12);
        local_23 = _e55;
    } else {
        local_23 = false;
    }
    bool _e57 = local_23;
    if (_e57) {
        uvec4 _e60 = random(x_12, y_12);
        uint _e66 = _group_0_binding_2_fs.chance;
        local_24 = ((_e60.z >> 16u) < _e66);
    } else {
        local_24 = false;
    }
    bool _e69 = local_24;
    if (_e69) {
        uint _e71 = dot_branches(x_12, y_12, keep_1, n_12, 0u);
        return _e71;
    }
    return cell_12;
}

uint dots_by_branches(uint x_13, uint y_13, uint cell_13, Around n_13) {
    uint next = 0u;
    bool _e4 = is_passage(cell_13);
    if (!(_e4)) {
        return cell_13;
    }
    next = cell_13;
    uint _e9 = _group_0_binding_2_fs.number;
    if (((_e9 & 1u) == 0u)) {
        uint _e14 = let_in_branches(x_13, y_13, cell_13, n_13);
        next = _e14;
    } else {
        uint _e15 = move_on_branches(x_13, y_13, cell_13, n_13);
        next = _e15;
    }
    bool _e16 = is_led(n_13);
    if (_e16) {
        uint _e17 = next;
        return (_e17 | TRAIL);
    }
    uint _e20 = next;
    return _e20;
}

uint any_of_selects(uint choice_3, uint word_2) {
    uint skipped_1 = (((word_2 >> 16u) * uint(bitCount(choice_3))) >> 16u);
    uvec4 below = uvec4(0u, (choice_3 & 1u), uint(bitCount((choice_3 & 3u))), uint(bitCount((choice_3 & 7u))));
    bvec4 is_it = equal(((uvec4(choice_3) >> uvec4(0u, 1u, 2u, 3u)) & uvec4(1u)), uvec4(1u));
    uvec4 found = mix(uvec4(0u), uvec4(0u, 1u, 2u, 3u), bvec4(is_it.x && equal(below, uvec4(skipped_1)).x, is_it.y && equal(below, uvec4(skipped_1)).y, is_it.z && equal(below, uvec4(skipped_1)).z, is_it.w && equal(below, uvec4(skipped_1)).w));
    return (((found.x | found.y) | found.z) | found.w);
}

uint choose_selects(uint choice_4, uint word_3) {
    uint _e4 = _group_0_binding_2_fs.number;
    uint turn_1 = ((_e4 >> 1u) & 3u);
    uint next_2 = ((turn_1 + min(uint(findLSB((((choice_4 | (choice_4 << 4u)) >> turn_1) | 16u))), 32u)) & 3u);
    uint _e19 = any_of_selects(choice_4, word_3);
    bool _e20 = is_finishing();
    return (_e20 ? next_2 : _e19);
}

uint beside_selects(Around n_14, uint side_6) {
    return ((side_6 > 1u) ? ((side_6 == 3u) ? n_14.left : n_14.down) : ((side_6 == 1u) ? n_14.right : n_14.up));
}

uint grow_by_selects(uint x_14, uint y_14, uint cell_14, Around n_15) {
    uint next_1 = 0u;
    uint _e6 = _group_0_binding_2_fs.number;
    bool is_even = ((_e6 & 1u) == 0u);
    bool is_level_1 = ((x_14 & 1u) == 1u);
    uint first_1 = (is_level_1 ? n_15.left : n_15.up);
    uint second_1 = (is_level_1 ? n_15.right : n_15.down);
    uint forth_1 = (is_level_1 ? 1u : 2u);
    uint _e24 = opposite(forth_1);
    uint _e25 = kind(first_1);
    uint _e28 = kind(second_1);
    bool is_decided = ((_e25 != FLOOR) && (_e28 != FLOOR));
    bool _e33 = is_just(first_1, HEAD, forth_1);
    uint _e34 = kind(second_1);
    bool by_first = (_e33 && (_e34 == FLOOR));
    bool _e39 = is_just(second_1, HEAD, _e24);
    uint _e40 = kind(first_1);
    bool by_second = (_e39 && (_e40 == FLOOR));
    uint _e48 = towards(RESERVED, _e24);
    uint _e51 = towards(RESERVED, forth_1);
    uint from_floor = (by_first ? _e51 : (by_second ? _e48 : (is_decided ? OPEN : FLOOR)));
    uint _e53 = direction(cell_14);
    uint toward_1 = ((_e53 == forth_1) ? second_1 : first_1);
    uint _e58 = kind(toward_1);
    uint _e61 = parent(toward_1);
    uint _e62 = opposite(_e53);
    uint from_reserved = (((_e58 != FLOOR) && (_e61 == _e62)) ? WALL : FLOOR);
    bool _e72 = is_border(x_14, y_14);
    bool is_slot = ((is_even && (((x_14 ^ y_14) & 1u) == 1u)) && !(_e72));
    uvec4 _e75 = random(x_14, y_14);
    uint _e76 = free_sides(n_15);
    uint _e78 = sides_coming(n_15, RESERVED);
    uint keep_2 = (cell_14 & PARENTAGE);
    uint _e82 = choose_selects(_e78, _e75.x);
    uint tried_1 = ((((cell_14 >> 5u) & ALL_SIDES) | (1u << _e53)) | (ALL_SIDES & ~(_e76)));
    uint _e94 = kind(cell_14);
    bool is_floor = (_e94 == FLOOR);
    uint _e97 = kind(cell_14);
    bool is_head = (_e97 == HEAD);
    uint choice_5 = (is_floor ? (ALL_SIDES & ~((1u << _e82))) : (is_head ? (ALL_SIDES & ~(tried_1)) : _e76));
    uint _e112 = choose_selects(choice_5, _e75.y);
    uint _e113 = towards(HEAD, _e112);
    uint joined = ((_e78 != 0u) ? (((_e113 | (1u << (_e82 + 5u))) | (_e82 << 9u)) | HAS_PARENT) : cell_14);
    uint _e127 = beside_selects(n_15, _e53);
    bool _e129 = is_just(_e127, RESERVED, _e53);
    bool is_done = (_e129 || (tried_1 == ALL_SIDES));
    uint from_head = (is_done ? (WALL | keep_2) : ((_e113 | (tried_1 << 5u)) | keep_2));
    bool _e140 = is_finishing();
    uint _e146 = _group_0_binding_2_fs.chance;
    bool is_drawn = (_e140 || ((_e75.z >> 16u) < _e146));
    uint from_wall = (((_e76 != 0u) && is_drawn) ? ((_e113 | ((ALL_SIDES & ~(_e76)) << 5u)) | keep_2) : cell_14);
    bool is_pillar = (!(is_even) && (((x_14 | y_14) & 1u) == 0u));
    next_1 = cell_14;
    uint _e168 = next_1;
    next_1 = ((is_slot && is_floor) ? from_floor : _e168);
    uint _e171 = next_1;
    uint _e172 = kind(cell_14);
    next_1 = ((is_slot && (_e172 == RESERVED)) ? from_reserved : _e171);
    uint _e177 = next_1;
    next_1 = ((is_pillar && is_floor) ? joined : _e177);
    uint _e180 = next_1;
    next_1 = ((is_pillar && is_head) ? from_head : _e180);
    uint _e183 = next_1;
    uint _e184 = kind(cell_14);
    next_1 = ((is_pillar && (_e184 == WALL)) ? from_wall : _e183);
    uint _e189 = next_1;
    return _e189;
}

uint fill_by_selects(uint x_15, uint y_15, uint cell_15, Around n_16) {
    uint _e5 = kind(n_16.up);
    uint _e9 = kind(n_16.right);
    uint _e13 = kind(n_16.down);
    uint _e17 = kind(n_16.left);
    uint _e20 = sides((_e5 == OPEN), (_e9 == OPEN), (_e13 == OPEN), (_e17 == OPEN));
    uint open_1 = uint(bitCount(_e20));
    uint _e23 = kind(cell_15);
    bool _e29 = is_start(x_15, y_15);
    bool _e32 = is_goal(x_15, y_15);
    return (((((_e23 == OPEN) && (open_1 <= 1u)) && !(_e29)) && !(_e32)) ? FILLED : cell_15);
}

uint dots_by_selects(uint x_16, uint y_16, uint cell_16, Around n_17) {
    uvec4 _e4 = random(x_16, y_16);
    uint _e5 = kind(cell_16);
    uint keep_3 = (cell_16 & 7680u);
    uint _e8 = direction(cell_16);
    uint _e10 = sides_coming(n_17, DOT);
    bool is_claimed = ((_e5 == OPEN) && (_e10 != 0u));
    uint _e18 = any_of_selects(_e10, _e4.x);
    uint _e19 = towards(CLAIMED, _e18);
    uint even = (is_claimed ? (_e19 | keep_3) : cell_16);
    uint _e24 = parent(cell_16);
    bool _e28 = is_start(x_16, y_16);
    bool is_first = (((_e5 == CLAIMED) && (_e24 == NOBODY)) && !(_e28));
    uint entered_3 = (keep_3 | (is_first ? ((_e8 << 9u) | HAS_PARENT) : 0u));
    uint shunned_1 = ((_e5 == DOT) ? (1u << _e8) : 0u);
    uint _e44 = ways_of(n_17);
    uint _e45 = onward(entered_3);
    uint ways_1 = (_e44 & _e45);
    uint _e47 = new_of(n_17);
    uint _e48 = onward(entered_3);
    uint new_ones = ((_e47 & _e48) & ~(shunned_1));
    uint others = (((ways_1 & ~(shunned_1)) != 0u) ? (ways_1 & ~(shunned_1)) : ways_1);
    uint choice_6 = ((new_ones != 0u) ? new_ones : others);
    uint _e64 = parent(entered_3);
    bool is_back = ((ways_1 == 0u) && (_e64 != NOBODY));
    uint _e70 = any_of_selects(choice_6, _e4.y);
    uint _e71 = parent(entered_3);
    uint _e75 = towards(DOT, (is_back ? (_e71 & 3u) : _e70));
    uint dot_ = (_e75 | entered_3);
    bool _e81 = is_goal(x_16, y_16);
    uint arrived = (_e81 ? ((OPEN | entered_3) | TRAIL) : dot_);
    uint _e83 = beside_selects(n_17, _e8);
    uint _e85 = opposite(_e8);
    bool _e86 = is_just(_e83, CLAIMED, _e85);
    uint _e92 = parent(cell_16);
    uint left_1 = ((_e92 == _e8) ? (FILLED | keep_3) : (_e86 ? (OPEN | keep_3) : dot_));
    bool _e97 = is_start(x_16, y_16);
    uint _e104 = _group_0_binding_2_fs.chance;
    bool is_born = (((_e5 == OPEN) && _e97) && ((_e4.z >> 16u) < _e104));
    uint odd = ((_e5 == CLAIMED) ? arrived : ((_e5 == DOT) ? left_1 : (is_born ? dot_ : cell_16)));
    uint _e116 = _group_0_binding_2_fs.number;
    uint next_3 = (((_e116 & 1u) == 0u) ? even : odd);
    bool _e124 = is_led(n_17);
    bool _e127 = is_passage(cell_16);
    return (_e127 ? (next_3 | (_e124 ? TRAIL : 0u)) : cell_16);
}

bool has_arrived() {
    uint _e2 = cell_at(1u, 1u);
    return ((_e2 & TRAIL) != 0u);
}

void main() {
    vec4 place = gl_FragCoord;
    uint x_17 = uint(place.x);
    uint y_17 = uint(place.y);
    uint _e5 = cell_at(x_17, y_17);
    Around _e6 = look_around(x_17, y_17);
    uint _e9 = _group_0_binding_2_fs.report;
    switch(_e9) {
        case 0u: {
            uint _e10 = grow_by_branches(x_17, y_17, _e5, _e6);
            _fs2p_location0 = _e10;
            return;
        }
        case 1u: {
            uint _e11 = fill_by_branches(x_17, y_17, _e5, _e6);
            _fs2p_location0 = _e11;
            return;
        }
        case 2u: {
            bool _e12 = has_arrived();
            if (_e12) {
                _fs2p_location0 = _e5;
                return;
            }
            uint _e13 = dots_by_branches(x_17, y_17, _e5, _e6);
            _fs2p_location0 = _e13;
            return;
        }
        case 3u: {
            uint _e14 = grow_by_selects(x_17, y_17, _e5, _e6);
            _fs2p_location0 = _e14;
            return;
        }
        case 4u: {
            uint _e15 = fill_by_selects(x_17, y_17, _e5, _e6);
            _fs2p_location0 = _e15;
            return;
        }
        default: {
            uint _e16 = dots_by_selects(x_17, y_17, _e5, _e6);
            bool _e17 = has_arrived();
            _fs2p_location0 = (_e17 ? _e5 : _e16);
            return;
        }
    }
}
