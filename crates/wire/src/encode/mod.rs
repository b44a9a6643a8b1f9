//! What a server sends: stream chunks, bodies, error bodies and metrics pages, in the shapes of a real one.
