"""Operations that layers are made of: fused, quantised, compiled or fast on a CPU."""
