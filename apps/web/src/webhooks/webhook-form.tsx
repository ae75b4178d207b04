import { useId, useRef } from 'preact/hooks';
import { type Delivery, type Webhook, WEBHOOK_EVENTS, type WebhookEvent, type WebhookSecret } from '../api-types.js';
import { appName, useApps } from '../apps/usable-apps.js';
import { textOf, timeText } from '../format.js';
import { Button, Copyable, ShownOnce, SubmitButton } from '../parts/buttons.js';
import { Field, FieldError } from '../parts/form.js';
import { Dialog } from '../parts/overlays.js';
import { Card, Fault } from '../parts/parts.js';
import { change, inApp, pointerOf } from '../server.js';
import type { AccountWebhook } from '../server-types.js';
import { type Action, focusOnFaulty, useAction } from '../use-data.js';
import { EVENT_TEXTS } from './webhook-parts.js';

/** The path of one of the App's webhooks in the API. */
export function pathOf(appId: string, webhookId: string): string {
  return inApp(appId, `/webhooks/${encodeURIComponent(webhookId)}`);
}

/** Sends a test message, and returns its delivery. */
export function sendTest({ app, webhook_id: id }: AccountWebhook): Promise<Delivery> {
  return change<Delivery>(`${pathOf(app.id, id)}/test`);
}

/** A secret that was created, and what it signs. */
export interface CreatedSecret extends WebhookSecret {
  /** The URL of the webhook, or the App of per-request webhooks. */
  readonly of: string;
  readonly isNew: boolean;
}

interface DialogProps {
  readonly isOpen: boolean;
  readonly close: () => void;
}

interface CreateWebhookDialogProps extends DialogProps {
  /** The App that is chosen at first; the default one where absent. */
  readonly appId: string | undefined;
  readonly created: (secret: CreatedSecret) => void;
}

export function CreateWebhookDialog({ appId, created, ...dialog }: CreateWebhookDialogProps) {
  const create = async (form: FormData) => {
    const { description, ...fields } = fieldsOf(form);
    const asked = { ...fields, ...(description === '' ? {} : { description }) };
    const webhook = await change<Webhook & WebhookSecret>(inApp(textOf(form, 'app'), '/webhooks'), asked);
    return () => created({ ...webhook, of: webhook.url, isNew: true });
  };
  return (
    <FormDialog {...dialog} title="Create webhook" doIt="Create webhook" busyText="Creating…" action={create}>
      {(doing) => (
        <>
          <AppField chosen={appId} />
          <WebhookFields doing={doing} known={undefined} />
        </>
      )}
    </FormDialog>
  );
}

interface EditWebhookDialogProps extends DialogProps {
  readonly webhook: AccountWebhook | undefined;
  readonly saved: () => Promise<void>;
}

export function EditWebhookDialog({ webhook, saved, ...dialog }: EditWebhookDialogProps) {
  const save = async (form: FormData) => {
    const path = webhook === undefined ? '' : pathOf(webhook.app.id, webhook.webhook_id);
    await change(path, fieldsOf(form), { method: 'PATCH' });
    return saved;
  };
  return (
    <FormDialog {...dialog} title="Edit webhook" doIt="Save changes" busyText="Saving…" action={save}>
      {(doing) => <WebhookFields doing={doing} known={webhook} />}
    </FormDialog>
  );
}

function fieldsOf(form: FormData) {
  return {
    url: textOf(form, 'url').trim(),
    events: form.getAll('event') as WebhookEvent[],
    description: textOf(form, 'description').trim(),
  };
}

interface FormDialogProps extends DialogProps {
  readonly title: string;
  readonly doIt: string;
  readonly busyText: string;
  /** Returns what runs once the dialog is closed, for example to move the focus. */
  readonly action: (form: FormData) => Promise<() => unknown>;
  readonly children: (doing: Action) => preact.ComponentChildren;
}

const FIELDS = ['/url', '/events', '/description'];

/** A form over the page. It stays open, with its errors, until what it does has worked. */
function FormDialog({ isOpen, close, title, doIt, busyText, action, children }: FormDialogProps) {
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const doing = useAction();
  const { isBusy, fault, error, setFault, run } = doing;
  const leave = (): void => {
    setFault(undefined);
    close();
  };
  const submit = async (): Promise<void> => {
    const fields = new FormData(form.current ?? undefined);
    const worked = await run(async () => {
      const done = await action(fields);
      close();
      await done();
    });
    if (!worked) focusOnFaulty(form.current);
  };
  return (
    <Dialog isOpen={isOpen} close={leave} labelledBy={`${id}-title`} class="dialog wide">
      <form
        ref={form}
        noValidate
        autocomplete="off"
        onInput={() => setFault(undefined)}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h2 id={`${id}-title`}>{title}</h2>
        {children(doing)}
        <Fault text={FIELDS.includes(pointerOf(error)) ? undefined : fault} />
        <footer>
          <Button onClick={leave}>Cancel</Button>
          <SubmitButton isBusy={isBusy} busyText={busyText}>
            {doIt}
          </SubmitButton>
        </footer>
      </form>
    </Dialog>
  );
}

/** The App whose generations are reported. The API's own credentials see the webhook in the same App. */
function AppField({ chosen }: { readonly chosen: string | undefined }) {
  const apps = useApps().value?.apps ?? [];
  const usual = apps.find(({ id }) => id === chosen) ?? apps.find(({ kind }) => kind === 'keys') ?? apps[0];
  return (
    <Field label="App" hint="The webhook reports the generations of this App.">
      {(control) => (
        <select {...control} key={usual?.id} class="input" name="app" defaultValue={usual?.id ?? ''}>
          {apps.map((app) => (
            <option key={app.id} value={app.id} selected={app === usual}>
              {appName(app)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** The URL of a webhook, its events, and a note for people. */
function WebhookFields({ doing, known }: { readonly doing: Action; readonly known: AccountWebhook | undefined }) {
  const { fault, error } = doing;
  const errorAt = (name: string): string | undefined => (pointerOf(error) === `/${name}` ? fault : undefined);
  const eventsFault = errorAt('events');
  const chosen = known?.events ?? WEBHOOK_EVENTS.filter((event) => event !== 'generation.running');
  return (
    <>
      <Field
        label="Address"
        hint="HTTPS on the public internet, unless the operator allows others."
        error={errorAt('url')}
      >
        {(control) => (
          <input
            {...control}
            class="input"
            name="url"
            inputMode="url"
            autocomplete="off"
            spellcheck={false}
            defaultValue={known?.url ?? ''}
            placeholder="https://app.example/webhooks/darkroom"
          />
        )}
      </Field>
      <fieldset class="field">
        <legend class="label">Events</legend>
        {WEBHOOK_EVENTS.map((event) => (
          <label key={event} class="check">
            <input
              type="checkbox"
              name="event"
              value={event}
              defaultChecked={chosen.includes(event)}
              aria-invalid={eventsFault === undefined ? undefined : true}
              aria-describedby={eventsFault === undefined ? undefined : 'events-error'}
            />
            <span>
              {event}
              <small>{EVENT_TEXTS[event]}</small>
            </span>
          </label>
        ))}
        <FieldError id="events-error" text={eventsFault} />
      </fieldset>
      <Field label="Description" note="optional" error={errorAt('description')}>
        {(control) => <input {...control} class="input" name="description" defaultValue={known?.description ?? ''} />}
      </Field>
    </>
  );
}

const SAMPLE = `import { verifyWebhook } from 'darkroom-client';

// body: the text of the request as it was received, not parsed
const { type, data } = await verifyWebhook(body, request.headers, process.env.WEBHOOK_SECRET);`;

interface SecretCardProps {
  readonly secret: CreatedSecret;
  readonly onDone: () => void;
}

/** A new secret, until the person has it, and how a receiver uses it. */
export function SecretCard({
  secret: { of, isNew, secret, previous_secret_expires_at: until },
  onDone,
}: SecretCardProps) {
  return (
    <Card id="secret" title={isNew ? 'Webhook created' : 'New secret'} note={of}>
      <ShownOnce secret={secret} onDone={onDone}>
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
}
