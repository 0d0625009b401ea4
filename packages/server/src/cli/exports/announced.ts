/** `sha-256=:…:` (RFC 9530) in hex; null when there is none. */
export function parseReprDigest(value: string | undefined): string | null {
  const base64 = /(?:^|[,\s])sha-256=:([A-Za-z0-9+/=]+):/.exec(value ?? '')?.[1];
  return base64 === undefined ? null : Buffer.from(base64, 'base64').toString('hex');
}

/** The file name of Content-Disposition, with nothing in it that could lead elsewhere. */
export function suggestedName(header: string | undefined): string | null {
  const encoded = /filename\*=UTF-8''([^;\s]+)/i.exec(header ?? '')?.[1];
  const plain = /filename="((?:[^"\\]|\\.)*)"|filename=([^;\s"]+)/i.exec(header ?? '');
  const name =
    encoded === undefined ? (plain?.[1] ?? plain?.[2])?.replace(/\\(.)/g, '$1') : decode(encoded);
  return name === undefined ? null : safeName(name);
}

/** A name from elsewhere as that of a file in this folder; null when nothing of it is left. */
export function safeName(name: string): string | null {
  const safe = name.replace(/[\u0000-\u001f\u007f-\u009f/\\]/g, '_').replace(/^\.+/, '');
  return safe === '' ? null : safe.slice(0, 200);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
