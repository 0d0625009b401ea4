import { decompress, init } from '@bokuweb/zstd-wasm';

// All files of a test process share this module. A second `init` would break what the first one made.
await init();

/** Unpacks one frame of zstd. */
export const unpackFrame = (frame: Uint8Array): Buffer => Buffer.from(decompress(frame));
