import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client.ts';
import type { MadePortalLink, NewPortalLink } from '../api/types.ts';
import { Copied } from '../ui/copy-button.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Instant } from '../ui/marks.tsx';
import { Panel, PanelBody } from '../ui/panel.tsx';
import { useForm } from '../ui/use-form.ts';
import { accessKey } from './use-access.ts';

/** The form for a link into the portal. When it is made, the panel shows it, this once. */
export function NewLinkPanel({ onClose }: { onClose: () => void }): ReactNode {
  const [made, setMade] = useState<MadePortalLink | null>(null);
  return (
    <Panel
      kind="PORTAL"
      title={made === null ? 'new link' : made.tenant}
      id="new-link"
      closeLabel="Close the new link"
      onClose={onClose}
    >
      <PanelBody>
        {made === null ? <LinkForm onMade={setMade} /> : <Made link={made} onClose={onClose} />}
      </PanelBody>
    </Panel>
  );
}

const lasting = [
  { value: '900', label: 'after 15 minutes' },
  { value: '3600', label: 'after an hour' },
  { value: '28800', label: 'after 8 hours' },
  { value: '86400', label: 'after a day' },
];

type Values = { tenant: string; subject: string; seconds: string; isReading: boolean };

/** The body for a new link. */
function toNewLink({ tenant, subject, seconds, isReading }: Values): NewPortalLink {
  return {
    tenant: tenant.trim(),
    ...(subject.trim() !== '' && { subject: subject.trim() }),
    seconds: Number(seconds),
    scope: isReading ? 'webhooks:read' : 'webhooks:manage',
  };
}

function LinkForm({ onMade }: { onMade: (link: MadePortalLink) => void }): ReactNode {
  const form = useForm<Values, MadePortalLink>({
    first: { tenant: '', subject: '', seconds: '3600', isReading: false },
    call: (values) => api.post<MadePortalLink>('/webhook/portal-links', toNewLink(values)),
    onDone: onMade,
    changes: accessKey,
  });
  return (
    <ActionForm label="A new link into the portal" {...form.sent} button="Make the link">
      <TextInput
        label="Tenant"
        description="Its people see its webhooks, and nothing else"
        maxLength={128}
        {...form.text('tenant')}
      />
      <TextInput
        label="For"
        description="Whom it is for, as the audit log will say it"
        placeholder="jo@tx.example"
        maxLength={200}
        {...form.text('subject')}
      />
      <NativeSelect label="Ends" {...form.choice('seconds')} data={lasting} />
      <Checkbox label="To look only, and change nothing" {...form.box('isReading')} />
    </ActionForm>
  );
}

function Made({ link, onClose }: { link: MadePortalLink; onClose: () => void }): ReactNode {
  return (
    <>
      <p className="muted">
        The link opens once, and what it opened ends <Instant at={link.expires_at} />. It is shown
        this once: hand it on now.
      </p>
      <Copied text={link.url} label="Copy the link" isSecret />
      <div className="flex wrap end gap-8">
        <Button variant="filled" onClick={onClose}>
          I have handed it on
        </Button>
      </div>
    </>
  );
}
