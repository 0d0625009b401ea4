/** A colleague, as the company's directory knows them. */
export type Colleague = {
  readonly name: string;
  readonly email: string;
  groups: readonly string[];
};

type TestIdentityServer = {
  readonly issuer: string;
  /** Who is asked for a name and a password at the identity server, and gives them. */
  readonly colleagues: Record<string, Colleague>;
  /** While it is, each connection to it breaks. */
  isDown: boolean;
  /** Signs with another key from now on, and says nothing of the old one any more. */
  rotateKeys(): Promise<void>;
  /**
   * Goes where the service sends the browser of `who`, with the cookies of `jar`, until it is sent back to us. Returns the
   * query that it comes back with. A browser that does not say whose it is, is Ada's.
   */
  visit(url: string, jar: Map<string, string>, who: string): Promise<string>;
  stop(): Promise<void>;
};

export const testClient: { readonly id: string; readonly secret: string };
export function startIdentityServer(
  publicUrl: string,
  colleagues?: Record<string, Colleague>,
): Promise<TestIdentityServer>;

/**
 * What a browser does: it follows redirects, and keeps cookies by their names. A form that is shown is sent with what
 * `fillIn` says.
 */
export function visit(
  url: string,
  jar: Map<string, string>,
  publicUrl: string,
  fillIn?: () => Record<string, string>,
): Promise<string>;
