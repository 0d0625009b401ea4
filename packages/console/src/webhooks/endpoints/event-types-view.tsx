import { Button, Checkbox, Textarea, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ApiError, api } from '../../api/client.ts';
import type { CatalogueType, InputFault, Page } from '../../api/types.ts';
import { changedBut, useAct } from '../../ui/act.ts';
import { AskButton } from '../../ui/confirm-dialog.tsx';
import { Facts } from '../../ui/facts.tsx';
import { ActionForm } from '../../ui/form.tsx';
import { JsonText } from '../../ui/json-text.tsx';
import { Empty, Loaded } from '../../ui/list.tsx';
import { ListBar, NewButton } from '../../ui/list-page.tsx';
import { Panel, PanelBody } from '../../ui/panel.tsx';
import { useRead } from '../../ui/poll.tsx';
import { useSession } from '../../ui/session.ts';
import type { Column } from '../../ui/table/column.ts';
import { columnsOf } from '../../ui/table/columns.tsx';
import { List } from '../../ui/table/list.tsx';
import { notify } from '../../ui/toasts.tsx';
import { useForm } from '../../ui/use-form.ts';
import { eventTypesKey } from '../query-keys.ts';

const path = '/webhook/event-types';
/** The panel for a type that is to be added: no type is called so, because all have a dot. */
const newType = 'new';

/** The catalogue, for the list and for the form of an endpoint. */
function useEventTypes() {
  const params = { limit: 500 };
  return useRead<Page<CatalogueType>>([...eventTypesKey, 'list'], path, { params });
}

const column = columnsOf<CatalogueType>();
const columns: readonly Column<CatalogueType>[] = [
  column.text('type', 'TYPE', 200, { isMain: true, card: 'title' }),
  column.sentence('description', 'DESCRIPTION', 240, { rank: 2, card: 'note' }),
  column.own('schema', 'SCHEMA', 88, {
    card: 'line',
    value: ({ schema }) => (schema === null ? null : 'schema'),
  }),
  column.own('sample', 'SAMPLE', 88, {
    card: 'line',
    value: ({ sample }) => (sample === null ? null : 'sample'),
  }),
  column.own('deprecated', 'STATE', 104, {
    card: 'line',
    value: ({ deprecated }) => (deprecated ? 'deprecated' : 'in use'),
  }),
  column.moment('updated_at', 'CHANGED', 120, { rank: 1, card: 'fact' }),
];

/** Whether the person may change the catalogue, which is of all tenants. */
function useIsKeeper(): boolean {
  const { actor, hasScope } = useSession();
  return hasScope('admin') && actor.tenants === null;
}

/** The types of events that may be reported, and one of them in its drawer. */
export function EventTypesView(props: {
  views: ReactNode;
  open: string | undefined;
  onOpen: (type: string) => void;
  onMade: (type: string) => void;
  onClose: () => void;
}): ReactNode {
  const { views, open, onOpen, onMade, onClose } = props;
  const isKeeper = useIsKeeper();
  const list = useEventTypes();
  const rows = list.data?.data ?? [];
  return (
    <>
      <ListBar left={views} queries={[list]}>
        {isKeeper && <NewButton what="type" onClick={() => onOpen(newType)} />}
      </ListBar>
      <List
        queries={[list]}
        name="event types"
        placeholders={8}
        empty={
          <Empty title="No event types yet">
            <p>
              A type says what is reported, and how its data looks.
              {isKeeper && ' SVC_EVENT_TYPES says what becomes of a report that fits none.'}
            </p>
          </Empty>
        }
        list="event-types"
        label="Event types"
        columns={columns}
        rows={rows}
        keyOf={({ type }) => type}
        open={open}
        onOpen={onOpen}
      />
      {open !== undefined && (
        <TypePanel
          key={open}
          type={open}
          known={rows.find(({ type }) => type === open)}
          onMade={onMade}
          onClose={onClose}
        />
      )}
    </>
  );
}

function TypePanel(props: {
  type: string;
  known: CatalogueType | undefined;
  onMade: (type: string) => void;
  onClose: () => void;
}): ReactNode {
  const { type, known, onMade, onClose } = props;
  const isKeeper = useIsKeeper();
  const isNew = type === newType;
  const [isEditing, setEditing] = useState(isNew);
  const one = `${path}/${encodeURIComponent(type)}`;
  const query = useRead<CatalogueType>([...eventTypesKey, type], one, { isWanted: !isNew, known });
  const remove = useAct({
    call: () => api.delete(one),
    onDone: onClose,
    failed: 'Not taken out',
    changes: changedBut(eventTypesKey, type),
  });
  const row = query.data;
  return (
    <Panel
      kind={isNew ? 'NEW EVENT TYPE' : 'EVENT TYPE'}
      title={isNew ? '' : type}
      id={`type/${type}`}
      closeLabel="Close event type"
      onClose={onClose}
    >
      {row !== undefined && isKeeper && (
        <div className="drawer-actions">
          <Button aria-pressed={isEditing} onClick={() => setEditing(!isEditing)}>
            {isEditing ? 'Close form' : 'Edit'}
          </Button>
          <span className="grow" />
          <AskButton
            text="Take out…"
            isBusy={remove.isPending}
            title="Take it out of the catalogue?"
            answer="Take it out"
            onYes={() => remove.mutate()}
          >
            Endpoints, incidents and deliveries stay as they are.
          </AskButton>
        </div>
      )}
      <PanelBody label="The event type">
        {isEditing && (isNew || row !== undefined) && (
          <TypeForm
            row={row}
            onSaved={(saved) => {
              setEditing(false);
              notify({ text: `Saved ${saved}` });
              if (isNew) onMade(saved);
            }}
          />
        )}
        {!isNew && (
          <Loaded query={query} name="the event type" rows={6}>
            {(shown) => (isEditing ? null : <TypeFacts row={shown} />)}
          </Loaded>
        )}
      </PanelBody>
    </Panel>
  );
}

function TypeFacts({ row }: { row: CatalogueType }): ReactNode {
  const { description, deprecated, schema, sample } = row;
  const parts = { SCHEMA: schema, SAMPLE: sample };
  return (
    <>
      <Facts facts={{ description, state: deprecated ? 'deprecated: wanted no more' : 'in use' }} />
      {Object.entries(parts).map(([name, part]) =>
        part === null ? null : (
          <div key={name} className="below-16">
            <h3 className="caps below-8">{name}</h3>
            <JsonText source={JSON.stringify(part)} />
          </div>
        ),
      )}
    </>
  );
}

type FormValues = {
  type: string;
  description: string;
  schema: string;
  sample: string;
  deprecated: boolean;
};

function TypeForm(props: {
  row: CatalogueType | undefined;
  onSaved: (type: string) => void;
}): ReactNode {
  const { row, onSaved } = props;
  const form = useForm<FormValues, CatalogueType>({
    first: () => ({
      type: row?.type ?? '',
      description: row?.description ?? '',
      schema: row?.schema == null ? '' : JSON.stringify(row.schema, null, 2),
      sample: row?.sample == null ? '' : JSON.stringify(row.sample, null, 2),
      deprecated: row?.deprecated ?? false,
    }),
    call: async (values) =>
      api.put<CatalogueType>(`${path}/${encodeURIComponent(values.type.trim())}`, {
        description: values.description.trim() === '' ? null : values.description.trim(),
        ...readJson({ schema: values.schema, sample: values.sample }),
        deprecated: values.deprecated,
      }),
    onDone: ({ type }) => onSaved(type),
    changes: eventTypesKey,
  });
  const lines = { autosize: true, minRows: 3, maxRows: 16 };
  return (
    <ActionForm
      label="The event type"
      {...form.sent}
      isReady={form.values.type.trim() !== ''}
      button={row === undefined ? 'Add the type' : 'Save changes'}
      isFaultAbove
    >
      {row === undefined && (
        <TextInput
          label="Type"
          {...form.text('type')}
          placeholder="incident.created"
          maxLength={128}
        />
      )}
      <Textarea
        label="Description"
        {...form.text('description')}
        autosize
        maxRows={4}
        maxLength={1000}
      />
      <Textarea
        label="JSON Schema of its data"
        description="Empty: any data. References lead only to a part of it, as #/$defs/…"
        {...form.text('schema')}
        {...lines}
      />
      <Textarea
        label="Sample of its data"
        description="As JSON. A ping of this type sends it"
        {...form.text('sample')}
        {...lines}
      />
      <Checkbox label="Deprecated: to be reported and wanted no more" {...form.box('deprecated')} />
    </ActionForm>
  );
}

/** Reads fields that hold JSON. What is none is refused as the service refuses a field. */
function readJson(texts: Readonly<Record<string, string>>): Record<string, unknown> {
  const errors: InputFault[] = [];
  const values = Object.entries(texts).map(([name, text]) => {
    try {
      return [name, text.trim() === '' ? null : JSON.parse(text)];
    } catch (error) {
      const message = `is not JSON: ${(error as Error).message}`;
      errors.push({ path: `/${name}`, code: 'value_invalid', message });
      return [name, null];
    }
  });
  if (errors.length > 0)
    throw new ApiError({ status: 400, code: 'request_invalid', detail: '', errors });
  return Object.fromEntries(values);
}

const mostProposed = 6;

/** Types of the catalogue that the last word of a field may become; a click puts one there. */
export function TypeProposals(props: {
  typed: string;
  onTyped: (typed: string) => void;
}): ReactNode {
  const { typed, onTyped } = props;
  const { data } = useEventTypes();
  const words = typed.split(/[\s,]+/);
  const last = words.at(-1) ?? '';
  const proposed = (data?.data ?? [])
    .filter(({ type, deprecated }) => !deprecated && !words.includes(type))
    .filter(({ type }) => last === '*' || type.startsWith(last))
    .slice(0, mostProposed);
  if (proposed.length === 0) return null;
  const kept = words.slice(0, -1).filter((word) => word !== '' && word !== '*');
  return (
    <fieldset className="flex wrap gap-6" aria-label="Types of the catalogue">
      {proposed.map(({ type, description }) => (
        <Button
          key={type}
          size="compact-xs"
          title={description ?? undefined}
          onClick={() => onTyped([...kept, type].join(', '))}
        >
          {type}
        </Button>
      ))}
    </fieldset>
  );
}
