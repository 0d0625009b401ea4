import { createContext, use } from 'react';
import type { Actor } from '../api/types.ts';
import type { Scope } from '../api/values.ts';

/** The session of the person who is signed in. */
export type Session = {
  readonly actor: Actor;
  readonly hasScope: (scope: Scope) => boolean;
  /** Ends the session in the service, and shows the sign-in page, which leads back to `from`; or says why it did not. */
  readonly signOut: (from?: string) => Promise<void>;
};

/** The frame provides the session once somebody is signed in. */
export const SessionContext = createContext<Session | null>(null);

/** Who is signed in. May be used only inside the frame. */
export function useSession(): Session {
  const session = use(SessionContext);
  if (session === null) throw new Error('useSession outside of a session');
  return session;
}
