import { randomInt } from 'node:crypto';
import type { SignInPurpose } from '../src/kernel/values.ts';
import type { Answer, TestService } from './service.ts';

export const testPublicUrl = 'https://svcctl.example';

/** The settings with which the service lets the colleagues of a test's identity server in. */
export function identitySettings(issuer: string, secret?: string): Record<string, string> {
  return {
    SVC_PUBLIC_URL: testPublicUrl,
    SVC_TRUSTED_PROXIES: '127.0.0.0/8',
    SVC_OIDC_ISSUER: issuer,
    SVC_OIDC_CLIENT_ID: 'svcctl',
    ...(secret !== undefined && { SVC_OIDC_CLIENT_SECRET: secret }),
    SVC_OIDC_SCOPES: 'openid profile email groups',
    SVC_OIDC_NAME: 'Acme',
    SVC_OIDC_GROUPS: JSON.stringify({
      ops: 'admin',
      'desk-tx': { preset: 'support-readonly', tenants: ['TX'] },
      'desk-ca': { preset: 'support-readonly', tenants: ['CA'] },
    }),
  };
}

/** A browser at the console: it keeps the cookies that the service sets, and sends them along. */
type TestBrowser = {
  readonly cookies: Map<string, string>;
  readonly call: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Answer>;
  /** Begins to sign in, and returns where the browser is sent. */
  readonly begin: (purpose?: SignInPurpose) => Promise<string>;
};

export function openBrowser(service: TestService): TestBrowser {
  const cookies = new Map<string, string>();
  // So many sign-ins of one address fail in a test that the address would be shut out.
  const address = `198.18.${randomInt(256)}.${randomInt(256)}`;
  const browser: TestBrowser = {
    cookies,
    async call(method, path, body, headers = {}) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const own = {
        origin: service.publicUrl,
        'sec-fetch-site': 'same-origin',

        'x-forwarded-for': address,
        'x-forwarded-proto': new URL(service.publicUrl).protocol.slice(0, -1),
        cookie,
        ...headers,
      };
      const answer = await service.call(method, path, { token: null, headers: own, body });
      for (const text of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
        if (value === '') cookies.delete(name);
        else cookies.set(name, value);
      }
      return answer;
    },
    async begin(purpose = 'page') {
      const answer = await browser.call('POST', '/session/identity', { purpose });
      if (answer.status !== 200) throw new Error(answer.text);
      return answer.json.url;
    },
  };
  return browser;
}
