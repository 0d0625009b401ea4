import { Checkbox, NativeSelect, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { MadePortalLink, NewPortalLink } from '../api/types.ts';
import { ActionForm } from '../ui/form.tsx';
import { MakePanel, ShownOnce } from '../ui/make-panel.tsx';
import { Instant } from '../ui/marks.tsx';
import { useForm } from '../ui/use-form.ts';
import { accessKey } from './use-access.ts';

/** The form for a link into the portal. When it is made, the panel shows it, this once. */
export function NewLinkPanel({ onClose }: { onClose: () => void }): ReactNode {
  return (
    <MakePanel<MadePortalLink>
      what="link"
      nameOf={({ tenant }) => tenant}
      form={(onMade) => <LinkForm onMade={onMade} />}
      onClose={onClose}
    >
      {({ url, expires_at: end }) => (
        <ShownOnce secret={url} noun="link" answer="I have handed it on" onClose={onClose}>
          The link opens once, and what it opened ends <Instant at={end} />. It is shown this once:
          hand it on now.
        </ShownOnce>
      )}
    </MakePanel>
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
    hasSecret: true,
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
