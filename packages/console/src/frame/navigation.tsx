import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import { type ReactNode, useId } from 'react';
import type { DeadLetters } from '../api/types.ts';
import { formatCount } from '../ui/format.ts';
import { useRead } from '../ui/poll.tsx';
import { useSession } from '../ui/session.ts';
import { deadLettersKey, dlqKey } from '../webhooks/query-keys.ts';
import frameClasses from './frame.module.css';
import classes from './navigation.module.css';
import { type ConsolePage, type PageGroup, pageGroups } from './pages.ts';

/** The pages, at the left of the frame. On a narrow screen the menu takes its place. */
export function Navigation(): ReactNode {
  return (
    <nav className={classes.navigation} aria-label="Pages">
      <Home />
      <Groups />
    </nav>
  );
}

/** The logo, which leads to the start page. */
export function Home(): ReactNode {
  return (
    <Link
      to="/"
      search={{}}
      className={`row ${classes.home}`}
      aria-label="svcctl, to the start page"
    >
      <Logo />
    </Link>
  );
}

export function Logo(): ReactNode {
  return (
    <span className={`inline-row gap-8 bold ${frameClasses.logo}`}>
      <svg width="18" height="18" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
        <rect width="16" height="16" rx="3" className={frameClasses.logoGround} />
        <path d="M4 5h8M4 8h5M4 11h7" className={frameClasses.logoLines} />
      </svg>
      svcctl
    </span>
  );
}

/** The links to all pages, in their groups. */
export function Groups({ onGo }: { onGo?: () => void }): ReactNode {
  return (
    <div className={classes.groups}>
      {pageGroups.map((group) => (
        <Group key={group.pages[0]?.path} group={group} onGo={onGo} />
      ))}
    </div>
  );
}

function Group(props: { group: PageGroup; onGo: (() => void) | undefined }): ReactNode {
  const { name, pages } = props.group;
  const id = useId();
  return (
    <>
      {name !== null && (
        <h2 id={id} className={`caps row between bold ${classes.group}`}>
          <span>{name}</span>
        </h2>
      )}
      <ul {...(name !== null && { 'aria-labelledby': id })}>
        {pages.map((page) => (
          <li key={page.path}>
            <PageLink page={page} onGo={props.onGo} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** The link to a page. */
function PageLink(props: { page: ConsolePage; onGo: (() => void) | undefined }): ReactNode {
  const { path, name, scope, Icon } = props.page;
  return (
    <Link
      to={path}
      search={{}}
      className={`hover row gap-10 ink small nowrap ${classes.link}`}
      activeOptions={{ includeSearch: false, exact: true }}
      onClick={props.onGo}
    >
      <Icon />
      <span className={`stack ${classes.name}`}>
        {name}
        {scope === 'admin' && <AdminOnly />}
      </span>
      {path === '/dlq' && <AbandonedCount />}
    </Link>
  );
}

/** The badge of what only admins may see. */
export function AdminOnly(): ReactNode {
  return <span className={`muted nowrap ${classes.badge}`}>ADMIN ONLY</span>;
}

const mostShown = 999;

/** How many deliveries are abandoned, in red; nothing when none is. */
function AbandonedCount(): ReactNode {
  const isWholeQueue = useLocation({
    select: ({ pathname, search }) =>
      pathname === '/dlq' && !['tenant', 'endpoint', 'failure', 'q'].some((name) => name in search),
  });
  const count = useAbandonedCount(isWholeQueue);
  if (count === undefined || count === 0) return null;
  return (
    <span className={classes.count}>
      {count > mostShown ? `${formatCount(mostShown)}+` : count}
      <span className="visually-hidden"> abandoned</span>
    </span>
  );
}

/**
 * How many deliveries are abandoned; undefined while that is not known, or not for this session to know. With
 * `isOnPage` the page WEBHOOK DLQ shows the whole queue: then the number is taken from what the page reads, which asks
 * once for each status.
 */
function useAbandonedCount(isOnPage: boolean): number | undefined {
  const isAdmin = useSession().hasScope('admin');
  const own = useRead<DeadLetters>([...dlqKey, 'abandoned'], '/webhook/dlq', {
    params: { status: 'abandoned', limit: 1 },
    isWanted: isAdmin && !isOnPage,
    isOne: true,
  });
  // It reads nothing by itself, so it must not say how: the page would then read in that way, too.
  const ofPage = useQuery<DeadLetters>({
    queryKey: deadLettersKey({ status: 'abandoned' }),
    enabled: false,
  });
  if (!isAdmin) return undefined;
  const newest = isOnPage ? (ofPage.data ?? own.data) : own.data;
  return newest?.total ?? undefined;
}
