import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

/** All addresses of a host name. Rejects when there are none. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/**
 * The resolver of the operating system. At most one question per name at a time: each takes one of
 * libuv's four threads for as long as a dead name server keeps silent.
 */
export function createLookup(): Lookup {
  const asked = new Map<string, Promise<readonly string[]>>();
  return (hostname) => {
    const known = asked.get(hostname);
    if (known !== undefined) return known;
    const question = lookup(hostname, { all: true, verbatim: true })
      .then((answers) => answers.map((answer) => answer.address))
      .finally(() => asked.delete(hostname));
    asked.set(hostname, question);
    return question;
  };
}

/** The address that the host of a URL is, as WHATWG URL writes it; null when it is a name. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? null : bare;
}
