import { Button } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useSession } from '../frame/session.tsx';
import { CheckIcon, DownloadIcon, LinkIcon, TagIcon } from '../ui/icons.tsx';
import { NeedsScope } from './needs-scope.tsx';

/** What can be done with the chosen node. */
export function NodeActions(props: { onExport: () => void; onTag: () => void }): ReactNode {
  const { hasScope } = useSession();
  const { copied, copy } = useClipboard({ timeout: 1500 });
  const mayExport = hasScope('analytics:read');
  return (
    <>
      <NeedsScope scope="analytics:read" has={mayExport}>
        {(refused) => (
          <Button
            leftSection={<DownloadIcon />}
            {...refused}
            onClick={() => mayExport && props.onExport()}
          >
            EXPORT…
          </Button>
        )}
      </NeedsScope>
      <TagButton onTag={props.onTag} />
      <Button
        leftSection={copied ? <CheckIcon /> : <LinkIcon />}
        onClick={() => copy(window.location.href)}
      >
        <span aria-live="polite">{copied ? 'Copied' : 'Copy link'}</span>
      </Button>
    </>
  );
}

/** Opens the question what to tag. */
export function TagButton(props: { text?: string; onTag: () => void }): ReactNode {
  const { hasScope } = useSession();
  const mayTag = hasScope('datasets:write');
  return (
    <NeedsScope scope="datasets:write" has={mayTag}>
      {(refused) => (
        <Button leftSection={<TagIcon />} {...refused} onClick={() => mayTag && props.onTag()}>
          {props.text ?? 'TAG…'}
        </Button>
      )}
    </NeedsScope>
  );
}
