module cipherloom.invalid/vectors/cobblestone

go 1.24
