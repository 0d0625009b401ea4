import { Link, useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { presetWith, type Scope } from '../api/values.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { signInFailure } from '../ui/outage.ts';
import { useSession } from '../ui/session.ts';
import { notify } from '../ui/toasts.tsx';

/** Shows its children if the token has the scope, and otherwise says which scope is needed. */
export function RequireScope(props: { scope: Scope; children: ReactNode }): ReactNode {
  const { hasScope } = useSession();
  return hasScope(props.scope) ? props.children : <NoAccess scope={props.scope} />;
}

/** The page that a token without the scope sees instead: it says who can help. */
function NoAccess({ scope }: { scope: Scope }): ReactNode {
  const { actor, signOut } = useSession();
  const { history } = useRouter();
  const signInAnew = () => signOut(history.location.href).catch(tellFailure);
  const preset = presetWith(scope);
  const grant = preset === undefined ? `--scope ${scope}` : `--preset ${preset}`;
  const command = `svcctl tokens create --name NAME ${grant}`;
  return (
    <section className="message">
      <h2>This page needs the scope {scope}</h2>
      <p>
        You are signed in as <strong>{actor.name}</strong> with {actor.scopes.join(', ')}. An admin
        can make a token that may see it:
      </p>
      <div className="copied gap-8 break above-8 below-16">
        <code>{command}</code>
        <CopyButton value={command} label="Copy the command" />
      </div>
      <button type="button" className="link-button" onClick={() => void signInAnew()}>
        Sign in with another token
      </button>
    </section>
  );
}

function tellFailure(error: Error): void {
  notify({ text: signInFailure(error) });
}

export function NotFoundPage(): ReactNode {
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
