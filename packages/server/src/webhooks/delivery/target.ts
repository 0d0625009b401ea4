import { setTimeout as delay } from 'node:timers/promises';
import type { Actor } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import {
  createAddressRule,
  createLookup,
  findObjection,
  type Lookup,
  literalAddress,
} from './address.ts';

export type Target = {
  /**
   * Checks a URL for an endpoint. Throws 400 `target_invalid` or `target_blocked`. A name that cannot be looked up
   * passes with https, because every attempt checks again. Only a reader of all tenants is told where a name leads.
   */
  assertAllowed(url: string, reader: Pick<Actor, 'tenants'>): Promise<void>;
};

export type TargetOptions = {
  /** CIDRs that are allowed although they are special. http may be used only for addresses inside them. */
  readonly allowTargets: readonly string[];
  readonly lookup?: Lookup;
  /** How long a name may take to be looked up, 5000 by default. After that it counts as unknown. */
  readonly lookupTimeoutMillis?: number;
};

const maxUrlLength = 2000;

export function createTarget(options: TargetOptions): Target {
  const rule = createAddressRule(options.allowTargets);
  const lookup = options.lookup ?? createLookup();
  const timeoutMillis = options.lookupTimeoutMillis ?? 5000;
  return {
    async assertAllowed(text, { tenants }) {
      const url = parseTarget(text);
      const literal = literalAddress(url.hostname);
      const found =
        literal === null ? await lookupInTime(lookup, url.hostname, timeoutMillis) : [literal];
      const addresses = isThisMachine(url.hostname) ? ['127.0.0.1', ...found] : found;
      if (addresses.length === 0) {
        if (url.protocol === 'https:') return;
        throw invalid(
          `${url.hostname} cannot be looked up, and http is only for targets inside SVC_ALLOW_TARGETS. Use https, or try again once the name exists.`,
        );
      }
      const { protocol, hostname } = url;
      const objection = findObjection(rule, { protocol, hostname, addresses });
      if (objection === null) return;
      const why = tenants === null ? objection.fullText : objection.text;
      if (objection.kind === 'plain') throw invalid(`${why}. Use https.`);
      throw new AppError('target_blocked', {
        detail: `${why}. Use a public address, or let an administrator of the service add this one.`,
      });
    },
  };
}

/**
 * Whether a name means the machine itself (RFC 6761, and names of hosts files), even if the resolver does not know it.
 */
function isThisMachine(hostname: string): boolean {
  return /(^|\.)(localhost[46]?|ip6-(localhost|loopback))(\.localdomain[46]?)?\.?$/.test(hostname);
}

/** Checks the form of a URL, not where it leads. Throws 400 `target_invalid`. */
function parseTarget(text: string): URL {
  if (text.length > maxUrlLength)
    throw invalid(`The URL is longer than ${maxUrlLength} characters.`);
  // The URL parser would silently drop or encode these, and the stored URL would not be the one that was given.
  if (/[\u0000-\u0020\u007f]/.test(text)) {
    throw invalid('The URL contains white space or control characters. Leave them out.');
  }
  if (!URL.canParse(text))
    throw invalid('This is not a URL. Give one such as https://example.com/hook.');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw invalid(`The URL begins with ${url.protocol} Use https.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('The URL contains credentials. Leave them out: deliveries are signed instead.');
  }
  if (text.includes('#')) {
    throw invalid('The URL contains a fragment (#…), which is never sent. Leave it out.');
  }
  if (text.endsWith('?…')) {
    throw invalid('The URL is cut: lists show ?… in place of its query. Give it whole.');
  }
  if (/^\.|\.\./.test(url.hostname)) {
    throw invalid('The host name has an empty part between its dots. Leave the extra dot out.');
  }
  if (url.port === '0') throw invalid('Port 0 cannot be connected to. Name another port.');
  return url;
}

function invalid(detail: string): AppError {
  return new AppError('target_invalid', { detail });
}

/** The addresses of a name; an empty list when there are none or they did not come in time. */
function lookupInTime(
  lookup: Lookup,
  hostname: string,
  timeoutMillis: number,
): Promise<readonly string[]> {
  const none: readonly string[] = [];
  const timeout = delay(timeoutMillis, none, { ref: false });
  return Promise.race([lookup(hostname).catch(() => none), timeout]);
}
