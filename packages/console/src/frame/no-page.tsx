import { Link, useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { presetWith, type Scope } from '../api/values.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { useSession } from '../ui/session.ts';

// What takes the place of a page that cannot be shown. Few see it, so it is no part of the first load.

/** The page that a token without the scope sees instead: it says who can help. */
export function NoAccess({ scope }: { scope: Scope }): ReactNode {
  const { actor, signOut } = useSession();
  const { history } = useRouter();
  const isPerson = actor.kind === 'person';
  const preset = presetWith(scope);
  const grant = preset === undefined ? `--scope ${scope}` : `--preset ${preset}`;
  const command = `svcctl tokens create --name NAME ${grant}`;
  return (
    <section className="message">
      <h2>This page needs the scope {scope}</h2>
      <p>
        You are signed in as <strong>{actor.name}</strong> with {actor.scopes.join(', ')}.{' '}
        {isPerson
          ? 'SVC_OIDC_GROUPS says what your groups may see: ask to be put into another, and sign in anew.'
          : 'An admin can make a token that may see it:'}
      </p>
      {!isPerson && (
        <div className="copied gap-8 break above-8 below-16">
          <code>{command}</code>
          <CopyButton value={command} label="Copy the command" />
        </div>
      )}
      <button
        type="button"
        className="link-button"
        onClick={() => void signOut(history.location.href)}
      >
        {isPerson ? 'Sign in anew' : 'Sign in with another token'}
      </button>
    </section>
  );
}

/** Says that an address names no page. */
export function NotFound(): ReactNode {
  return (
    <section className="message">
      <h2>There is no such page</h2>
      <p>
        The address <code>{window.location.hash || '/'}</code> names no page of this console. It may
        have been cut when it was copied.
      </p>
      <p>
        <Link to="/" search={{}}>
          Go to OVERVIEW
        </Link>
      </p>
    </section>
  );
}
