/** A Content-Disposition (RFC 6266): plain where it can be, UTF-8 beside it where it cannot. */
export function disposition(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]/g, '-');
  const full = plain === name ? '' : `; filename*=UTF-8''${percentEncoded(name)}`;
  return `attachment; filename="${plain}"${full}`;
}

/** RFC 8187. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
