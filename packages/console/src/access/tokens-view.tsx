import { Button } from '@mantine/core';
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { api } from '../api/client.ts';
import type { AccessToken } from '../api/types.ts';
import type { Scope } from '../api/values.ts';
import { useAct } from '../ui/act.ts';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { WarningIcon } from '../ui/icons.tsx';
import { Empty } from '../ui/list.tsx';
import { ListBar, NewButton } from '../ui/list-page.tsx';
import { CutText, Moment, usePageNow } from '../ui/marks.tsx';
import { useSession } from '../ui/session.ts';
import type { Column } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { List } from '../ui/table/list.tsx';
import { notify } from '../ui/toasts.tsx';
import { accessKey, useTokens } from './use-access.ts';
import { asTree, isStale, leavesNoManager, revokedWith, scopesText, tenantsText } from './words.ts';

type TreeRow = { token: AccessToken; depth: number };

const keyOf = ({ token }: TreeRow) => token.id;

/** The access tokens, each below the one that made it. */
export function TokensView(props: {
  views: ReactNode;
  onNew: () => void;
  /** Gives a token another secret. */
  onRotate: (id: string) => void;
  /** Shows what a token did. */
  onAudit: (id: string) => void;
}): ReactNode {
  const { onAudit, onRotate } = props;
  const list = useTokens();
  const { hasScope } = useSession();
  const [asked, setAsked] = useState<AccessToken | null>(null);
  const rows = useMemo(() => asTree(list.data?.data ?? []), [list.data]);
  const columns = useMemo(
    () => [...factColumns, actionColumn(setAsked, { onAudit, onRotate, hasScope })],
    [onAudit, onRotate, hasScope],
  );
  const close = useCallback(() => setAsked(null), []);
  return (
    <>
      <ListBar left={props.views} queries={[list]}>
        {hasScope('tokens:manage') && <NewButton what="token" onClick={props.onNew} />}
      </ListBar>
      <List
        queries={[list]}
        name="tokens"
        empty={<Empty title="No token in your reach" />}
        list="tokens"
        label="Access tokens"
        columns={columns}
        rows={rows}
        keyOf={keyOf}
      />
      {asked !== null && (
        <RevokeDialog token={asked} tokens={list.data?.data ?? []} onClose={close} />
      )}
    </>
  );
}

const column = columnsOf<TreeRow>();

const factColumns: readonly Column<TreeRow>[] = [
  column.own('name', 'NAME', 200, {
    isMain: true,
    card: 'title',
    cell: ({ token, depth }) => (
      <span className="flex shrink" style={{ paddingLeft: depth * 16 }}>
        {depth > 0 && <span aria-hidden="true">└ </span>}
        <CutText text={token.name} />
      </span>
    ),
    value: ({ token }) => token.name,
  }),
  column.own('scopes', 'MAY', 160, {
    card: 'line',
    cell: ({ token }) => <CutText text={scopesText(token.scopes)} end="" />,
    shown: ({ token }) => scopesText(token.scopes),
    value: ({ token }) => token.scopes.join(' '),
  }),
  column.text('tenants', 'TENANTS', 112, {
    card: 'line',
    value: ({ token }) => tenantsText(token),
  }),
  column.text('addresses', 'FROM', 96, {
    rank: 3,
    value: ({ token }) => token.addresses?.join(', ') ?? null,
  }),
  column.own('last_used_at', 'LAST USED', 112, {
    card: 'fact',
    cell: ({ token }) => <LastUse token={token} />,
    value: ({ token }) => token.last_used_at ?? '',
  }),
  column.own('expires_at', 'EXPIRES', 104, {
    card: 'fact',
    cell: ({ token }) => <Expiry token={token} />,
    value: ({ token }) => token.expires_at,
  }),
  column.own('creator', 'MADE BY', 112, {
    rank: 1,
    card: 'fact',
    cell: ({ token }) =>
      token.creator === null ? (
        <span
          className="muted"
          title={
            token.tenants === null
              ? 'Made on the machine of the service'
              : 'Made on the machine of the service, or by a token that you cannot list'
          }
        >
          {token.tenants === null ? 'set-up' : '–'}
        </span>
      ) : (
        <CutText text={token.creator.name} />
      ),
    value: ({ token }) => token.creator?.name ?? null,
  }),
  column.moment('created_at', 'MADE', 88, { rank: 2, value: ({ token }) => token.created_at }),
];

/** When a token ends, unless it counts no more by now. */
function Expiry({ token }: { token: AccessToken }): ReactNode {
  if (token.is_suspended) {
    const why = 'Whoever made it may not do as much any more, or does not sign in: until then';
    return (
      <span className="mark warn" title={`${why} it counts no more`}>
        <WarningIcon />
        suspended
      </span>
    );
  }
  if (token.expires_at === null) return <span className="muted">never</span>;
  return <Moment at={token.expires_at} />;
}

/** When a token was used last; a mark says that it may be forgotten. */
function LastUse({ token }: { token: AccessToken }): ReactNode {
  const { last_used_at: at } = token;
  const text = at === null ? 'never' : <Moment at={at} />;
  if (!isStale(token, usePageNow())) return text;
  return (
    <span className="mark warn" title="Not used for 90 days: revoke it, if nobody needs it">
      <WarningIcon />
      {text}
    </span>
  );
}

function actionColumn(
  onRevoke: (token: AccessToken) => void,
  of: {
    onAudit: (id: string) => void;
    onRotate: (id: string) => void;
    hasScope: (scope: Scope) => boolean;
  },
): Column<TreeRow> {
  return column.action(232, ({ token }, tabIndex) => (
    <span className="flex end gap-4">
      <Button
        size="compact-xs"
        variant="subtle"
        tabIndex={tabIndex}
        onClick={() => of.onAudit(token.id)}
      >
        LOG
        <span className="visually-hidden"> of {token.name}</span>
      </Button>
      {of.hasScope('tokens:manage') && token.scopes.every(of.hasScope) && (
        <>
          <Button
            size="compact-xs"
            variant="subtle"
            tabIndex={tabIndex}
            onClick={() => of.onRotate(token.id)}
          >
            ROTATE
            <span className="visually-hidden"> {token.name}</span>
          </Button>
          <Button size="compact-xs" tabIndex={tabIndex} onClick={() => onRevoke(token)}>
            REVOKE…
            <span className="visually-hidden"> {token.name}</span>
          </Button>
        </>
      )}
    </span>
  ));
}

/** Asks before a token is revoked, and says which others go with it, and whom that locks out. */
function RevokeDialog(props: {
  token: AccessToken;
  tokens: readonly AccessToken[];
  onClose: () => void;
}): ReactNode {
  const { name, id } = props.token;
  const revoke = useAct({
    call: () => api.delete(`/tokens/${encodeURIComponent(id)}`),
    onDone: () => notify({ text: `Revoked: ${name}` }),
    failed: `Not revoked: ${name}`,
    changes: accessKey,
  });
  const { actor } = useSession();
  const others = revokedWith(props.token, props.tokens);
  const own = [props.token, ...others].find((each) => each.id === actor.id);
  return (
    <ConfirmDialog
      title="Revoke this token?"
      answer="Revoke"
      onYes={() => revoke.mutate()}
      onClose={props.onClose}
    >
      <p>
        <strong>{name}</strong> stops working at once, in every process, and its console sessions
        end. This cannot be undone.
      </p>
      {others.length > 0 && (
        <p>
          With it {others.length === 1 ? 'goes the token' : `go ${others.length} tokens`} that it
          made: {others.map((other) => other.name).join(', ')}.
        </p>
      )}
      {own !== undefined && (
        <p>
          <strong>{own === props.token ? 'This' : own.name} is the token you signed in with</strong>
          : you will be signed out.
        </p>
      )}
      {leavesNoManager([props.token, ...others], props.tokens, Date.now()) && (
        <p>
          <strong>No token is left then that can manage tokens.</strong> On the machine of the
          service, <code>svcctl tokens create --local --name NAME --preset admin</code> makes one.
        </p>
      )}
    </ConfirmDialog>
  );
}
