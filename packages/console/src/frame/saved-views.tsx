import { Button, Checkbox, Modal, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client.ts';
import type { SavedView } from '../api/types.ts';
import { useAct } from '../ui/act.ts';
import { ActionForm } from '../ui/form.tsx';
import { parseSearch } from '../ui/hash-state.ts';
import { Loaded } from '../ui/list.tsx';
import { useSession } from '../ui/session.ts';
import { useForm } from '../ui/use-form.ts';
import { pages } from './pages.ts';
import classes from './saved-views.module.css';
import { useSavedViews, viewsKey } from './use-saved-views.ts';

const pathOf = (name: string) => `/views/${encodeURIComponent(name)}`;

/** What the service leaves out of an address. */
const passing = ['panel', 'cursor', 'at', 'open', 'q'];

/** What an address shows: its page, and what is chosen there. */
function wordsOf(address: string): string {
  const [path = '', query = ''] = address.slice(1).split('?');
  const page = pages.find((each) => each.path === path)?.name ?? path;
  const chosen = Object.entries(parseSearch(query)).filter(([name]) => !passing.includes(name));
  return [page, ...chosen.map((pair) => pair.join(' '))].join(' · ');
}

/** Saves the view below under a name, and lists those that were saved, which open, are renamed and deleted. */
export function SavedViews({ onClose }: { onClose: () => void }): ReactNode {
  const list = useSavedViews();
  const views = list.data?.data ?? [];
  return (
    <Modal opened onClose={onClose} size={640} title="Saved views">
      <SaveForm names={views.filter(({ own }) => own).map(({ name }) => name)} />
      <Loaded query={list} name="the saved views" rows={3}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="muted">No views yet. Those that others share appear here, too.</p>
          ) : (
            <ul className={classes.views} aria-label="Saved views">
              {data.map((view) => (
                <li
                  key={`${view.owner.id} ${view.name}`}
                  className="row wrap between gap-8 line-under"
                >
                  <View view={view} onClose={onClose} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Modal>
  );
}

function SaveForm({ names }: { names: readonly string[] }): ReactNode {
  const [address] = useState(() => window.location.hash || '#/');
  const form = useForm({
    first: { name: '', shared: false },
    call: ({ name, shared }) => api.put<SavedView>(pathOf(name.trim()), { address, shared }),
    changes: viewsKey,
  });
  const { values, sent, text, box } = form;
  const name = values.name.trim();
  return (
    <ActionForm
      label="Save this view"
      {...sent}
      isReady={name !== ''}
      button={names.includes(name) ? 'REPLACE' : 'SAVE'}
    >
      <p className={`muted small break ${classes.shown}`}>{wordsOf(address)}</p>
      <TextInput label="Name" maxLength={200} data-autofocus {...text('name')} />
      <Checkbox label="Shared: others find it by its name" {...box('shared')} />
    </ActionForm>
  );
}

/** A view: its link, what it shows and whose it is, and what can be done with it. */
function View({ view, onClose }: { view: SavedView; onClose: () => void }): ReactNode {
  const { hasScope, actor } = useSession();
  const [isRenamed, setRenamed] = useState(false);
  const { name, address, shared, own, owner } = view;
  const { mutate: remove, isPending } = useAct({
    call: () => api.delete(own ? pathOf(name) : `${pathOf(name)}?owner=${owner.id}`),
    failed: 'Not deleted',
    changes: viewsKey,
  });
  if (isRenamed) return <Rename view={view} onClose={() => setRenamed(false)} />;
  const mayDelete = own || (hasScope('admin') && actor.tenants === null);
  return (
    <>
      <div className="grow shrink break">
        <a href={address} onClick={onClose}>
          {name}
        </a>
        <div className="muted small">
          {wordsOf(address)}
          {own ? shared && ' · shared' : ` · by ${owner.name}`}
        </div>
      </div>
      {own && (
        <Button size="compact-xs" onClick={() => setRenamed(true)}>
          RENAME<span className="visually-hidden"> {name}</span>
        </Button>
      )}
      {mayDelete && (
        <Button size="compact-xs" className="danger" loading={isPending} onClick={() => remove()}>
          DELETE<span className="visually-hidden"> {name}</span>
        </Button>
      )}
    </>
  );
}

function Rename({ view, onClose }: { view: SavedView; onClose: () => void }): ReactNode {
  const { address, shared } = view;
  const { values, sent, text } = useForm({
    first: { name: view.name },
    call: ({ name }) => api.put<SavedView>(pathOf(view.name), { address, shared, name }),
    onDone: onClose,
    changes: viewsKey,
  });
  return (
    <div className="grow">
      <ActionForm
        label={`Rename ${view.name}`}
        {...sent}
        isReady={values.name.trim() !== ''}
        button="RENAME"
        others={<Button onClick={onClose}>KEEP</Button>}
      >
        <TextInput label="New name" maxLength={200} data-autofocus {...text('name')} />
      </ActionForm>
    </div>
  );
}
