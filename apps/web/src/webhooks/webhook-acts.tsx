import { type Delivery, type Webhook, WEBHOOK_EVENTS, type WebhookEvent, type WebhookSecret } from '../api-types.js';
import { appName, useApps } from '../use-apps.js';
import { textOf, timeText } from '../format.js';
import { ask } from '../parts/ask.js';
import { Copyable, ShownOnce } from '../parts/buttons.js';
import { ChecksField, SelectField, TextField } from '../parts/form.js';
import { Card } from '../parts/parts.js';
import type { MenuItem } from '../parts/overlays.js';
import { askItem } from '../parts/table.js';
import { announce } from '../parts/toasts.js';
import { goTo, hrefOf, place } from '../places.js';
import { change, inApp, remove } from '../server.js';
import type { AccountWebhook } from '../server-types.js';
import { type Action, focusOn, useShownOnce } from '../use-data.js';
import { PER_REQUEST } from './webhook-parts.js';

/** The path of one of the App's webhooks in the API. */
export function pathOf(appId: string, webhookId: string): string {
  return inApp(appId, `/webhooks/${encodeURIComponent(webhookId)}`);
}

/** Sends a test message, and shows its delivery. */
export async function sendTest({ app, webhook_id: id }: AccountWebhook): Promise<void> {
  const { delivery_id: delivery } = await change<Delivery>(`${pathOf(app.id, id)}/test`);
  const isHere = place.value.id === id;
  goTo(hrefOf('webhooks', { id, query: { delivery } }), { replaces: isHere, keepsScroll: isHere });
}

/** A secret that was created, and what it signs. */
interface CreatedSecret extends WebhookSecret {
  /** The URL of the webhook, or the App of per-request webhooks. */
  readonly of: string;
  readonly isNew?: boolean;
}

export type ShowSecret = (secret: CreatedSecret) => void;

/** `appId` is the App that is chosen at first; the default one where absent. */
export function createWebhook(appId: string | undefined, show: ShowSecret): void {
  ask({
    title: 'Create webhook',
    isWide: true,
    isHarmless: true,
    fields: (
      <>
        <AppField chosen={appId} />
        <WebhookFields />
      </>
    ),
    doIt: 'Create webhook',
    busyText: 'Creating…',
    act: (form) => {
      const { description, ...fields } = fieldsOf(form);
      const wanted = description === '' ? fields : { ...fields, description };
      return change<Webhook & WebhookSecret>(inApp(textOf(form, 'app'), '/webhooks'), wanted);
    },
    done: (webhook) => show({ ...webhook, of: webhook.url, isNew: true }),
  });
}

interface Then {
  doing: Action;
  /** Loads again what a change has changed. */
  changed: () => Promise<void>;
  show: ShowSecret;
  deleted: () => unknown;
}

/** The actions of a webhook, as items of a menu. */
export function actsOf(webhook: AccountWebhook, { doing, changed, show, deleted }: Then) {
  const { app, url, webhook_id: id } = webhook;
  const path = pathOf(app.id, id);
  const isEnabled = webhook.status === 'enabled';
  const toggle = (): void =>
    void doing.run(async () => {
      await change(path, { enabled: !isEnabled }, { method: 'PATCH' });
      await changed();
      announce(`The webhook is ${isEnabled ? 'disabled' : 'enabled'}.`);
    });
  const edit = (): void =>
    ask({
      title: 'Edit webhook',
      isWide: true,
      isHarmless: true,
      fields: <WebhookFields known={webhook} />,
      doIt: 'Save changes',
      busyText: 'Saving…',
      act: (form) => change(path, fieldsOf(form), { method: 'PATCH' }),
      done: async () => {
        await changed();
        announce('The webhook is changed.');
      },
    });
  const items: readonly MenuItem[] = [
    { text: isEnabled ? 'Disable' : 'Enable', icon: isEnabled ? 'pause' : 'play', act: toggle },
    { text: 'Rotate secret…', icon: 'refresh-cw', act: () => createSecret(path, url, false, show) },
    askItem('Delete…', 'trash', {
      title: 'Delete this webhook?',
      text: `Nothing more is sent to ${url}, and its log of deliveries is removed. This can’t be undone.`,
      doIt: 'Delete webhook',
      busyText: 'Deleting…',
      act: () => remove(path),
      done: () => {
        announce('The webhook is deleted.');
        return deleted();
      },
    }),
  ];
  return { toggle, edit, items };
}

/** The secret of an App's per-request webhooks, which may be the first one. */
export function createAppSecret(appId: string, appTitle: string, isFirst: boolean, show: ShowSecret): void {
  createSecret(pathOf(appId, PER_REQUEST), `the per-request webhooks of ${appTitle}`, isFirst, show);
}

function createSecret(path: string, of: string, isFirst: boolean, show: ShowSecret): void {
  ask({
    title: isFirst ? 'Create a secret?' : 'Rotate the secret?',
    text: isFirst
      ? `The secret signs messages to ${of}. It is shown once.`
      : `Messages to ${of} are signed with the new and the present secret for a day, then with the new one alone.`,
    isHarmless: true,
    doIt: isFirst ? 'Create secret' : 'Rotate secret',
    busyText: isFirst ? 'Creating…' : 'Rotating…',
    act: () => change<WebhookSecret>(`${path}/secret`),
    done: (secret) => show({ ...secret, of }),
  });
}

function fieldsOf(form: FormData) {
  return {
    url: textOf(form, 'url').trim(),
    events: form.getAll('event') as WebhookEvent[],
    description: textOf(form, 'description').trim(),
  };
}

/** The App whose generations are reported. The API's own credentials see the webhook in the same App. */
function AppField({ chosen }: { chosen: string | undefined }) {
  const apps = useApps().value?.apps ?? [];
  const usual = apps.find(({ id }) => id === chosen) ?? apps.find(({ kind }) => kind === 'keys');
  return (
    <SelectField
      label="App"
      name="app"
      hint="The webhook reports the generations of this App."
      options={apps.map((app) => [app.id, appName(app)])}
      chosen={usual?.id}
    />
  );
}

const EVENT_NOTES: Readonly<Record<WebhookEvent, string>> = {
  'generation.running': 'A generation starts',
  'generation.succeeded': 'It ends with at least one output',
  'generation.failed': 'It ends without an output',
  'generation.cancelled': 'It is cancelled',
};

/** The URL of a webhook, its events, and a note for people. */
function WebhookFields({ known }: { known?: AccountWebhook }) {
  return (
    <>
      <TextField
        label="Address"
        hint="HTTPS on the public internet, unless the operator allows others."
        name="url"
        inputMode="url"
        spellcheck={false}
        defaultValue={known?.url}
        placeholder="https://app.example/webhooks/darkroom"
      />
      <ChecksField
        legend="Events"
        name="event"
        pointer="/events"
        options={WEBHOOK_EVENTS.map((value) => ({ value, text: value, note: EVENT_NOTES[value] }))}
        chosen={known?.events ?? WEBHOOK_EVENTS.filter((event) => event !== 'generation.running')}
      />
      <TextField label="Description" note="optional" name="description" defaultValue={known?.description} />
    </>
  );
}

const SAMPLE = `import { verifyWebhook } from 'darkroom-client';

// body: the text of the request as it was received, not parsed
const { type, data } = await verifyWebhook(body, request.headers, process.env.WEBHOOK_SECRET);`;

/** The card of a new secret, until the person has it, and the function that shows one there. */
export function useSecretCard(headingId: string, reload: () => Promise<void>) {
  const [made, setMade, forget] = useShownOnce<CreatedSecret>(headingId);
  const show: ShowSecret = (secret) => {
    setMade(secret);
    focusOn('secret');
    void reload();
  };
  if (made === undefined) return [null, show] as const;
  const { of, isNew, secret, previous_secret_expires_at: until } = made;
  const card = (
    <Card id="secret" title={isNew === true ? 'Webhook created' : 'New secret'} note={of}>
      <ShownOnce secret={secret} onDone={forget}>
        <strong>Copy the secret now: it is shown only once.</strong> Messages are signed with it
        {until === undefined ? '.' : `, and with the previous one until ${timeText(until)}.`}
      </ShownOnce>
      <p class="small muted">
        A receiver verifies each message before it trusts it, with a client library or any library for Standard
        Webhooks. <a href="/docs/guides/webhooks">Guide to webhooks</a>
      </p>
      <Copyable text={SAMPLE} what="the sample" />
    </Card>
  );
  return [card, show] as const;
}
