import { useId, useState } from 'preact/hooks';
import { announce } from '../parts/toasts.js';
import {
  type DeliveryAttempt,
  type DeliveryState,
  type Webhook,
  WEBHOOK_EVENTS,
  type WebhookEvent,
  type WebhookSecret,
} from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { textOf, timeText } from '../format.js';
import { ActionButton, ConfirmButton, ShownOnce, Button, SubmitButton } from '../parts/buttons.js';
import { Card, Facts, Fault } from '../parts/parts.js';
import { goTo, hrefOf } from '../places.js';
import { change, pointerOf, remove } from '../server.js';
import { afterChange, useAction, useShownOnce, focusOn } from '../use-data.js';

export const EVENT_TEXTS: Readonly<Record<WebhookEvent | 'generation.test', string>> = {
  'generation.running': 'begins to run',
  'generation.succeeded': 'succeeds',
  'generation.failed': 'fails',
  'generation.cancelled': 'is cancelled',
  'generation.test': 'is only a test',
};

export const STATE_TEXTS: Readonly<Record<DeliveryState, string>> = {
  pending: 'Not yet tried',
  retrying: 'To be tried again',
  delivered: 'Delivered',
  exhausted: 'Given up',
  disabled: 'Not sent: the webhook was disabled',
  cancelled: 'Cancelled: the generation or the webhook was deleted',
};

const FAULT_TEXTS: Readonly<Record<NonNullable<DeliveryAttempt['fault']>, string>> = {
  address: 'the address must not be called',
  connection: 'no connection',
  timeout: 'no answer in time',
  answer: 'an answer that is not HTTP, or too large',
};

/** The result of one attempt. */
export function attemptText({ result, status, fault }: DeliveryAttempt): string {
  if (status !== undefined) return `answered ${status}`;
  if (fault !== undefined) return FAULT_TEXTS[fault];
  return result === 'unknown' ? 'the service ended before it saw the answer' : result;
}

/** Why nothing is sent to a webhook, and what to do; undefined for an enabled one. */
export function disabledText({ disabled_because: because, disabled_at: at }: Webhook): string | undefined {
  if (because === undefined || at === undefined) return undefined;
  if (because === 'gone')
    return `Disabled ${timeText(at)}: it answered 410, which says that it is gone. Enable it once it is back.`;
  if (because === 'failing')
    return `Disabled ${timeText(at)}: nothing that was sent to it succeeded for five days. Enable it once it works, and send again what it missed.`;
  return `Disabled ${timeText(at)} on request.`;
}

export function eventsText(events: readonly WebhookEvent[]): string {
  return `a generation ${events.map((event) => EVENT_TEXTS[event]).join(', ')}`;
}

export interface WebhookFields {
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly description: string;
}

interface WebhookFormProps {
  /** The current webhook; absent for a new one. */
  readonly known?: Webhook;
  readonly doIt: string;
  readonly submit: (fields: WebhookFields) => Promise<void>;
}

/** The URL of a webhook, the events it receives, and a note for people. Errors are shown at their fields. */
export function WebhookForm({ known, doIt, submit }: WebhookFormProps) {
  const { isBusy, fault, error, run } = useAction();
  const send = (form: HTMLFormElement): Promise<boolean> => {
    const fields = new FormData(form);
    return run(async () => {
      await submit({
        url: textOf(fields, 'url').trim(),
        events: fields.getAll('event') as WebhookEvent[],
        description: textOf(fields, 'description').trim(),
      });
      if (known === undefined) form.reset();
    });
  };
  const faultAt = (name: string): string | undefined => (pointerOf(error) === `/${name}` ? fault : undefined);
  const isAtField = ['url', 'events', 'description'].some((name) => faultAt(name) !== undefined);
  const chosen = known?.events ?? WEBHOOK_EVENTS.filter((event) => event !== 'generation.running');
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send(event.currentTarget);
      }}
    >
      <TextField
        name="url"
        label="Address"
        text={known?.url ?? ''}
        placeholder="https://app.example/webhooks/darkroom"
        fault={faultAt('url')}
      />
      <fieldset>
        <legend>It is told when a generation</legend>
        {WEBHOOK_EVENTS.map((event) => (
          <label key={event}>
            <input type="checkbox" name="event" value={event} defaultChecked={chosen.includes(event)} />
            {EVENT_TEXTS[event]}
          </label>
        ))}
        {faultAt('events') === undefined ? null : (
          <p class="field-fault" role="alert">
            {faultAt('events')}
          </p>
        )}
      </fieldset>
      <TextField
        name="description"
        label="Description (optional)"
        text={known?.description ?? ''}
        fault={faultAt('description')}
      />
      <Fault text={isAtField ? undefined : fault} />
      <SubmitButton isBusy={isBusy}>{doIt}</SubmitButton>
    </form>
  );
}

interface TextFieldProps {
  readonly name: string;
  readonly label: string;
  readonly text: string;
  readonly placeholder?: string;
  readonly fault: string | undefined;
}

function TextField({ name, label, text, placeholder = '', fault }: TextFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label>
        {label}
        <input
          name={name}
          defaultValue={text}
          placeholder={placeholder}
          autocomplete="off"
          aria-invalid={fault === undefined ? undefined : true}
          aria-describedby={fault === undefined ? undefined : id}
        />
      </label>
      {fault === undefined ? null : (
        <p id={id} class="field-fault" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

interface ShownSecretProps {
  readonly secret: WebhookSecret;
  readonly onDone: () => void;
}

export function ShownSecret({ secret: { secret, previous_secret_expires_at: until }, onDone }: ShownSecretProps) {
  return (
    <ShownOnce secret={secret} onDone={onDone}>
      <strong>Copy the secret now. It is shown this once.</strong> Messages are signed with it
      {until === undefined ? '.' : `, and with the one before it until ${timeText(until)}.`}
    </ShownOnce>
  );
}

interface WebhookSettingsCardProps {
  readonly appId: string;
  readonly app: string | undefined;
  readonly webhook: Webhook;
  readonly changed: () => Promise<void>;
}

/** One webhook: what it is, and everything that can be changed about it. */
export function WebhookSettingsCard({ appId, app, webhook, changed }: WebhookSettingsCardProps) {
  const [secret, setSecret, close] = useShownOnce<WebhookSecret>('webhook');
  const [isEditing, setEditing] = useState(false);
  const isEnabled = webhook.status === 'enabled';
  const path = inApp(appId, `/webhooks/${webhook.webhook_id}`);
  const { failing_since: failing, previous_secret_expires_at: until } = webhook;
  const disabled = disabledText(webhook);
  const said = afterChange(changed, 'webhook');
  const saved = async (fields: object, sentence: string): Promise<void> => {
    await change(path, fields, { method: 'PATCH' });
    setEditing(false);
    await said(sentence);
  };
  return (
    <Card id="webhook" title={webhook.url} note={webhook.description}>
      {disabled === undefined ? null : <p class="attention bad">{disabled}</p>}
      {secret === undefined ? null : <ShownSecret secret={secret} onDone={close} />}
      <Facts
        facts={[
          ['Told when', eventsText(webhook.events)],
          ['Made', timeText(webhook.created_at)],
          ['Changed', timeText(webhook.updated_at)],
          ['Failing since', failing && timeText(failing)],
          ['Signed with the secret before too, until', until && timeText(until)],
          ['Id', webhook.webhook_id],
        ]}
      />
      {isEditing ? (
        <WebhookForm known={webhook} doIt="Save" submit={(fields) => saved(fields, 'The webhook was changed.')} />
      ) : (
        <div class="row wrap">
          <Button isSmall onClick={() => setEditing(true)}>
            Edit
          </Button>
          <ActionButton
            action={() => saved({ enabled: !isEnabled }, `The webhook is ${isEnabled ? 'disabled' : 'enabled'}.`)}
          >
            {isEnabled ? 'Disable' : 'Enable'}
          </ActionButton>
          <ConfirmButton
            label="New secret"
            isHarmless
            question="Make a new secret?"
            consequence="Messages are signed with the new and the present one for a day, and then with the new one alone."
            doIt="Make it"
            action={() => change<WebhookSecret>(`${path}/secret`)}
            done={async (made) => {
              setSecret(made);
              announce('The secret was made. Copy it now.');
              focusOn('webhook');
              await changed();
            }}
          />
          <ConfirmButton
            label="Delete"
            fullLabel="Delete this webhook"
            question="Delete this webhook?"
            consequence="Nothing is sent to it any more, and what it was told is not shown any more. This cannot be undone."
            doIt="Delete it"
            action={() => remove(path)}
            done={() => {
              announce('The webhook is deleted.');
              goTo(hrefOf('webhooks', { query: { app } }));
            }}
          />
        </div>
      )}
    </Card>
  );
}
