import { useState } from 'preact/hooks';
import { Pause, Pencil, Play, RefreshCw, Send, Trash2 } from 'lucide-preact';
import type { WebhookSecret } from '../api-types.js';
import { ConfirmDialog } from '../parts/buttons.js';
import type { MenuItem } from '../parts/overlays.js';
import { announce } from '../parts/toasts.js';
import { goTo, hrefOf } from '../places.js';
import { change, remove } from '../server.js';
import type { AccountWebhook, App } from '../server-types.js';
import { useAction } from '../use-data.js';
import { type CreatedSecret, EditWebhookDialog, pathOf, sendTest } from './webhook-form.js';
import { PER_REQUEST, useAppNames } from './webhook-parts.js';

type Asking = { readonly act: 'edit' | 'rotate' | 'delete'; readonly webhook: AccountWebhook };

interface WebhookActsProps {
  /** Loads again what a change has changed. */
  readonly changed: () => Promise<void>;
  readonly rotated: (secret: CreatedSecret) => void;
  readonly deleted: () => void;
}

/** Everything that can be done with a webhook: the items of its menu, and the dialogs that they open. */
export function useWebhookActs({ changed, rotated, deleted }: WebhookActsProps) {
  const [asking, setAsking] = useState<Asking>();
  const doing = useAction();
  const close = (): void => setAsking(undefined);
  const ask = (act: Asking['act'], webhook: AccountWebhook) => (): void => setAsking({ act, webhook });
  const test = (webhook: AccountWebhook): Promise<boolean> =>
    doing.run(async () => {
      const { delivery_id: delivery } = await sendTest(webhook);
      goTo(hrefOf('webhooks', { id: webhook.webhook_id, query: { delivery } }));
    });
  const toggle = (webhook: AccountWebhook): Promise<boolean> =>
    doing.run(async () => {
      const enabled = webhook.status === 'disabled';
      await change(pathOf(webhook.app.id, webhook.webhook_id), { enabled }, { method: 'PATCH' });
      await changed();
      announce(`The webhook is ${enabled ? 'enabled' : 'disabled'}.`);
    });
  /** Those that change the webhook; `itemsOf` has all. */
  const changesOf = (webhook: AccountWebhook): readonly MenuItem[] => {
    const isEnabled = webhook.status === 'enabled';
    return [
      { text: isEnabled ? 'Disable' : 'Enable', icon: isEnabled ? Pause : Play, act: () => void toggle(webhook) },
      { text: 'Rotate secret…', icon: RefreshCw, act: ask('rotate', webhook) },
      { text: 'Delete…', icon: Trash2, act: ask('delete', webhook), isDangerous: true },
    ];
  };
  const itemsOf = (webhook: AccountWebhook): readonly MenuItem[] => [
    { text: 'Send test event', icon: Send, act: () => void test(webhook) },
    { text: 'Edit…', icon: Pencil, act: ask('edit', webhook) },
    ...changesOf(webhook),
  ];
  const webhook = asking?.webhook;
  const path = webhook === undefined ? '' : pathOf(webhook.app.id, webhook.webhook_id);
  const dialogs = (
    <>
      <EditWebhookDialog
        isOpen={asking?.act === 'edit'}
        close={close}
        webhook={webhook}
        saved={async () => {
          await changed();
          announce('The webhook is changed.');
        }}
      />
      <RotateDialog
        isOpen={asking?.act === 'rotate'}
        close={close}
        of={webhook?.url ?? ''}
        path={path}
        rotated={async (secret) => {
          rotated(secret);
          await changed();
        }}
      />
      <ConfirmDialog
        isOpen={asking?.act === 'delete'}
        close={close}
        question="Delete this webhook?"
        consequence={`Nothing more is sent to ${webhook?.url}, and its log of deliveries is removed. This can’t be undone.`}
        doIt="Delete webhook"
        busyText="Deleting…"
        action={() => remove(path)}
        done={() => {
          announce('The webhook is deleted.');
          deleted();
        }}
      />
    </>
  );
  return { itemsOf, changesOf, ask, toggle, doing, dialogs };
}

interface RotateDialogProps {
  readonly isOpen: boolean;
  readonly close: () => void;
  readonly of: string;
  /** Of the webhook in the API. */
  readonly path: string;
  /** Whether there is none yet. */
  readonly isNew?: boolean;
  readonly rotated: (secret: CreatedSecret) => Promise<void> | void;
}

function RotateDialog({ isOpen, close, of, path, isNew = false, rotated }: RotateDialogProps) {
  return (
    <ConfirmDialog
      isOpen={isOpen}
      close={close}
      isHarmless
      question={isNew ? 'Create a secret?' : 'Rotate the secret?'}
      consequence={
        isNew
          ? `The secret signs messages to ${of}. It is shown once.`
          : `Messages to ${of} are signed with the new and the present secret for a day, then with the new one alone.`
      }
      doIt={isNew ? 'Create secret' : 'Rotate secret'}
      busyText={isNew ? 'Creating…' : 'Rotating…'}
      action={() => change<WebhookSecret>(`${path}/secret`)}
      done={(secret) => rotated({ ...secret, of, isNew: false })}
    />
  );
}

/** Rotates the secret of an App's per-request webhooks. */
export function RotateDefaultDialog({
  app,
  ...dialog
}: Omit<RotateDialogProps, 'of' | 'path'> & { readonly app: App }) {
  const nameOf = useAppNames();
  return (
    <RotateDialog {...dialog} of={`the per-request webhooks of ${nameOf(app)}`} path={pathOf(app.id, PER_REQUEST)} />
  );
}
