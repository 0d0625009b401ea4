import { ActionIcon, Button, Popover, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { presetWith, type Scope } from '../api/values.ts';
import controls from '../ui/controls.module.css';
import { CliBlock } from '../ui/copy-button.tsx';
import { CheckIcon, DownloadIcon, EraseIcon, LinkIcon, MoreIcon, TagIcon } from '../ui/icons.tsx';
import { whereFree } from '../ui/keys.ts';
import { useSession } from '../ui/session.ts';
import { shellLine } from '../ui/words.ts';

/** The buttons for what can be done with the chosen node. */
export function NodeActions({
  tenant,
  onOpen,
}: {
  tenant: string;
  onOpen: (panel: 'export' | 'tag' | 'erase') => void;
}): ReactNode {
  const { hasScope } = useSession();
  const { copied, copy } = useClipboard({ timeout: 1500 });
  return (
    <>
      <ScopedButton scope="analytics:read" icon={<DownloadIcon />} onClick={() => onOpen('export')}>
        EXPORT…
      </ScopedButton>
      <TagButton onTag={() => onOpen('tag')} />
      <Button
        leftSection={copied ? <CheckIcon /> : <LinkIcon />}
        onClick={() => copy(window.location.href)}
      >
        <span aria-live="polite">{copied ? 'COPIED' : 'COPY LINK'}</span>
      </Button>
      {(hasScope('admin') || hasScope('enrichment:write')) && (
        <MoreActions
          tenant={tenant}
          onErase={hasScope('admin') ? () => onOpen('erase') : undefined}
        />
      )}
    </>
  );
}

/** What brings files in, on the command line: the browser does not read them. */
export function FileCommands({ tenant }: { tenant?: string }): ReactNode {
  const set = tenant === undefined ? [] : ['--set', `tenant=${tenant}`];
  const words = ['svcctl', 'records', 'import', 'history/*.parquet', ...set, '--check'];
  return (
    <>
      <CliBlock title="Bring history in; without --check it is stored" line={shellLine(words)} />
      <CliBlock title="Check a file of records" line="svcctl records lint records.ndjson" />
    </>
  );
}

/** The menu of what is rarely done with a node, by those who may write records. Only admins may erase. */
function MoreActions(props: { tenant: string; onErase: (() => void) | undefined }): ReactNode {
  const { tenant, onErase } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover position="bottom-end" trapFocus opened={isOpen} onChange={setOpen}>
      <Popover.Target>
        <ActionIcon
          variant="default"
          size={32}
          aria-label="More actions"
          onClick={() => setOpen(!isOpen)}
        >
          <MoreIcon />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className={controls.menu} maw="min(440px, 94vw)">
        <FileCommands tenant={tenant} />
        {onErase && (
          <button
            type="button"
            className={`${controls.menuItem} danger`}
            onClick={() => {
              setOpen(false);
              onErase();
            }}
          >
            <EraseIcon />
            ERASE…
          </button>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

/** The button that opens the dialog for tagging. */
export function TagButton(props: { text?: string; onTag: () => void }): ReactNode {
  return (
    <ScopedButton scope="datasets:write" icon={<TagIcon />} onClick={props.onTag}>
      {props.text ?? 'TAG…'}
    </ScopedButton>
  );
}

/** A button that the token may use only with a scope. Without it the button says which scope it needs. */
export function ScopedButton(props: {
  scope: Scope;
  icon: ReactNode;
  onClick: () => void;
  children: string;
}): ReactNode {
  const { scope, onClick } = props;
  const has = useSession().hasScope(scope);
  const preset = presetWith(scope);
  const advice = preset === undefined ? '' : ` Ask an admin for the preset ${preset}.`;
  return (
    <>
      <Tooltip
        disabled={has}
        label={`Your token lacks the scope ${scope}.${advice}`}
        multiline
        w={280}
      >
        <Button leftSection={props.icon} {...whereFree(has, onClick)}>
          {props.children}
        </Button>
      </Tooltip>
      {!has && <span className="muted small">needs {scope}</span>}
    </>
  );
}
