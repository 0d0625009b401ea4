/**
 * A URL as it is shown to those who need not know it whole: in lists and in the audit log. A query or credentials may
 * hold a secret of the receiver.
 */
export function maskUrl(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1…@').replace(/[?].*$/s, '?…');
}
