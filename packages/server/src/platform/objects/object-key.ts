const maxBytes = 1024;
const maxSegmentBytes = 255;

/**
 * Refuses keys that some store could not hold: those that lead out of its root, and those longer than
 * S3 takes (1,024 bytes) or a file system takes between two `/` (255).
 */
export function assertObjectKey(key: string): void {
  const segments = key.split('/');
  const fault =
    segments.find((segment) => segment === '' || segment === '.' || segment === '..') !== undefined
      ? 'has an empty segment, . or ..'
      : [temporaryFolder, markerName].includes(segments[0] ?? '')
        ? `begins with ${segments[0]}`
        : /[\0\\]/.test(key)
          ? 'holds a backslash or NUL'
          : Buffer.byteLength(key) > maxBytes
            ? `is longer than ${maxBytes} bytes`
            : segments.some((segment) => Buffer.byteLength(segment) > maxSegmentBytes)
              ? `has a segment longer than ${maxSegmentBytes} bytes`
              : null;
  if (fault !== null) throw new RangeError(`the object key ${JSON.stringify(key)} ${fault}`);
}

/** What lies beside the objects and is none of them: in a file system a folder. Readers of data sets pass over it. */
export const markerName = '_svcctl-store';

/** Where a store on a file system keeps what is not whole yet. */
export const temporaryFolder = '.tmp';
