import { useId, useState } from 'preact/hooks';
import { WEBHOOK_EVENTS, type Webhook, type WebhookEvent } from '../api-types.js';
import { textOf } from '../form-text.js';
import { Fault } from '../parts/fault.js';
import { RequestFailed, sentenceOf } from '../server.js';
import { EVENT_TEXTS } from './webhook-text.js';

export interface WebhookFields {
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly description: string;
}

interface WebhookFormProps {
  /** What it is now; absent for a new one. */
  readonly known?: Webhook;
  readonly doIt: string;
  readonly submit: (fields: WebhookFields) => Promise<void>;
}

/** The address of a webhook, what it is told of, and a note for people. What is refused is said at its field. */
export function WebhookForm({ known, doIt, submit }: WebhookFormProps) {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<{ readonly sentence: string; readonly pointer: string }>();
  const send = async (form: HTMLFormElement): Promise<void> => {
    setBusy(true);
    setFault(undefined);
    const fields = new FormData(form);
    try {
      await submit({
        url: textOf(fields, 'url').trim(),
        events: fields.getAll('event') as WebhookEvent[],
        description: textOf(fields, 'description').trim(),
      });
      if (known === undefined) form.reset();
    } catch (error) {
      const pointer = error instanceof RequestFailed ? (error.refusal.pointer ?? '') : '';
      setFault({ sentence: sentenceOf(error), pointer });
    } finally {
      setBusy(false);
    }
  };
  const faultAt = (name: string): string | undefined => (fault?.pointer === `/${name}` ? fault.sentence : undefined);
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
      <Fault text={isAtField ? undefined : fault?.sentence} />
      <button type="submit" aria-busy={isBusy} disabled={isBusy}>
        {doIt}
      </button>
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
