import type { Compression } from '../contract.ts';

/** How a file is called and served that may be compressed as a whole. */
export function compressedName(
  mediaType: string,
  extension: string,
  compression: Compression,
): { mediaType: string; extension: string } {
  switch (compression) {
    case 'none':
      return { mediaType, extension };
    case 'gzip':
      return { mediaType: 'application/gzip', extension: `${extension}.gz` };
    case 'zstd':
      return { mediaType: 'application/zstd', extension: `${extension}.zst` };
  }
}
