import { useEffect, useRef, useState } from 'preact/hooks';
import { dateText, SCOPE_TEXTS, textOf } from '../format.js';
import { Picture, thumbnailsOf } from '../media/picture.js';
import { Button, Copyable, ShownOnce, SubmitButton, useCopy } from '../parts/buttons.js';
import { Field, FieldError } from '../parts/fields.js';
import { Badge, Card, creditsText, Fault, PlaceLink } from '../parts/parts.js';
import type { AccountGeneration, App, NewKey, Overview, Scope } from '../server-types.js';
import { change, pointerOf } from '../server.js';
import { say } from '../parts/toasts.js';
import { type Data, focusOnFaulty, useAction, useData } from '../use-data.js';

/** The Apps that a key can be made for, the default one first. */
export interface NamedApps {
  readonly apps: readonly App[];
}

/** A key with the secret that its creator sees once. */
export interface MadeKey {
  readonly id: string;
  readonly name: string;
  readonly secret: string;
}

const DAY_MS = 86_400_000;
const NEVER = 'never';
const DATE = 'date';
const EXPIRIES: readonly (readonly [value: string, text: string])[] = [
  [NEVER, 'Never'],
  ['7', 'After 7 days'],
  ['30', 'After 30 days'],
  ['90', 'After 90 days'],
  [DATE, 'On a date…'],
];

interface NewKeyFormProps {
  readonly overview: Overview;
  readonly apps: Data<NamedApps>;
  readonly onMade: (key: MadeKey) => void;
  readonly close: () => void;
}

/** Creates a key. What the server refuses is said at its field. */
export function NewKeyForm({ overview, apps, onMade, close }: NewKeyFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const { isBusy, fault, error, setFault, run } = useAction();
  useEffect(() => form.current?.querySelector('input')?.focus(), []);
  const at = pointerOf(error);
  const errorAt = (pointer: string): string | undefined => (at === pointer ? fault : undefined);
  const hasField = ['/name', '/scopes', '/expires_at', '/monthly_cap'].includes(at);
  const submit = async (): Promise<void> => {
    const asked = askedKey(new FormData(form.current ?? undefined));
    const worked = await run(async () => {
      const { key, secret } = await change<{ readonly key: { readonly id: string }; readonly secret: string }>(
        '/keys',
        asked,
      );
      onMade({ id: key.id, name: asked.name, secret });
    });
    if (!worked) focusOnFaulty(form.current);
  };
  return (
    <Card id="new-key" title="Create key">
      {/* The keys of its fields arrive here. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <form
        ref={form}
        class="form"
        autocomplete="off"
        onInput={() => setFault(undefined)}
        onKeyDown={({ key }) => {
          if (key === 'Escape') close();
        }}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <div class="fields">
          <Field label="Name" hint="Where the key is used, such as “shop backend”." error={errorAt('/name')}>
            {(control) => <input {...control} class="input" name="name" required maxLength={100} />}
          </Field>
          <AppField apps={apps} />
        </div>
        <ScopesField overview={overview} error={errorAt('/scopes')} />
        <div class="fields">
          <LimitField currency={overview.account.currency} error={errorAt('/monthly_cap')} />
          <ExpiryFields error={errorAt('/expires_at')} />
        </div>
        <Fault text={hasField ? undefined : fault} />
        <div class="row wrap">
          <SubmitButton isBusy={isBusy} busyText="Creating…">
            Create key
          </SubmitButton>
          <Button onClick={close}>Cancel</Button>
          <span class="small muted">Scopes, limit and expiry can’t be changed later.</span>
        </div>
      </form>
    </Card>
  );
}

function LimitField({ currency, error }: { readonly currency: string; readonly error: string | undefined }) {
  return (
    <Field
      label="Monthly limit"
      note={`optional, in ${currency}`}
      hint="The most that the key may spend in a calendar month (UTC)."
      error={error}
    >
      {(control) => (
        <input
          {...control}
          class="input"
          name="cap"
          inputMode="numeric"
          pattern="[0-9]*"
          title="A whole number"
          maxLength={15}
          placeholder="No limit"
        />
      )}
    </Field>
  );
}

function ExpiryFields({ error }: { readonly error: string | undefined }) {
  const [expiry, setExpiry] = useState(NEVER);
  return (
    <>
      <Field label="Expires" hint={expiryHint(expiry)} error={expiry === DATE ? undefined : error}>
        {(control) => (
          <select
            {...control}
            class="input"
            name="expiry"
            value={expiry}
            onChange={({ currentTarget }) => setExpiry(currentTarget.value)}
          >
            {EXPIRIES.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      {expiry === DATE ? (
        <Field label="Last day" hint="The key works until its end, in your time zone." error={error}>
          {(control) => <input {...control} class="input" type="date" name="last-day" min={tomorrow()} required />}
        </Field>
      ) : null}
    </>
  );
}

function ScopesField({ overview, error }: { readonly overview: Overview; readonly error: string | undefined }) {
  return (
    <fieldset class="field">
      <legend class="label">Scopes</legend>
      <div class="checks">
        {overview.scopes.map((scope) => (
          <label key={scope} class="check">
            <input
              type="checkbox"
              name="scope"
              value={scope}
              defaultChecked={overview.default_scopes.includes(scope)}
              aria-invalid={error === undefined ? undefined : true}
              aria-describedby={error === undefined ? undefined : 'scopes-error'}
            />
            <span>
              {SCOPE_TEXTS[scope]}
              <small>
                <code>{scope}</code>
              </small>
            </span>
          </label>
        ))}
      </div>
      <FieldError id="scopes-error" text={error} />
    </fieldset>
  );
}

/** An account with one App has nothing to choose. */
function AppField({ apps: { value } }: Pick<NewKeyFormProps, 'apps'>) {
  const apps = value?.apps ?? [];
  if (apps.length < 2) return null;
  return (
    <Field label="App" hint="The key sees only what its App has made.">
      {(control) => (
        <select {...control} class="input" name="app">
          {apps.map(({ id, name }, index) => (
            <option key={id} value={id}>
              {index === 0 ? `${name ?? id} (default)` : (name ?? id)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function askedKey(form: FormData): NewKey {
  const text = (name: string): string => textOf(form, name).trim();
  const [expiry, cap, app] = [text('expiry'), text('cap'), text('app')];
  const end = expiry === NEVER ? undefined : expiry === DATE ? endOfDay(text('last-day')) : inDays(Number(expiry));
  return {
    name: text('name'),
    scopes: form.getAll('scope') as Scope[],
    ...(end === undefined ? {} : { expires_at: end }),
    ...(cap === '' ? {} : { monthly_cap: Number(cap) }),
    ...(app === '' ? {} : { app_id: app }),
  };
}

function inDays(days: number): string {
  return new Date(Date.now() + days * DAY_MS).toISOString();
}

/** The end of a day, `YYYY-MM-DD`, where the reader is. */
function endOfDay(day: string): string {
  return new Date(`${day}T23:59:59`).toISOString();
}

function expiryHint(expiry: string): string | undefined {
  if (expiry === NEVER) return 'The key works until it is revoked.';
  return expiry === DATE ? undefined : `The key works until ${dateText(inDays(Number(expiry)))}.`;
}

function tomorrow(): string {
  const day = new Date(Date.now() + DAY_MS);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

interface NewSecretProps {
  readonly overview: Overview;
  readonly made: MadeKey;
  /** Called when a generation with it has ended, so that its use has changed. */
  readonly used: () => Promise<void>;
  readonly close: () => void;
}

/** The secret of a new key, until the person has it, and a first request with it. */
export function NewSecret({ overview, made: { id, name, secret }, used, close }: NewSecretProps) {
  const [isCopied, copy] = useCopy(`DARKROOM_API_KEY=${secret}`, 'the line');
  return (
    <>
      <Card id="new-key" title={`“${name}” is ready`}>
        <ShownOnce
          secret={secret}
          onDone={close}
          actions={
            <Button isSmall kind="quiet" onClick={() => void copy()}>
              {isCopied ? 'Copied' : 'Copy as .env line'}
            </Button>
          }
        >
          <strong>Copy the secret now: it is shown only once.</strong> Whoever has it can use the key.
        </ShownOnce>
      </Card>
      {overview.first_request === null ? null : (
        <div class="columns">
          <FirstRequest overview={overview} />
          <FirstResult keyId={id} keyName={name} used={used} />
        </div>
      )}
    </>
  );
}

/** A request that works once the secret of a key is in its variable, and waits for its picture. */
export function FirstRequest({
  overview: { first_request: body, base_url: baseUrl },
}: {
  readonly overview: Overview;
}) {
  if (body === null) return null;
  const request = [
    `curl -sS --fail-with-body ${baseUrl}/api/v1/developer/generations \\`,
    '  -H "Authorization: Bearer $DARKROOM_API_KEY" \\',
    '  -H "Idempotency-Key: first-$(date +%s)" \\',
    '  -H "Prefer: wait=60" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${shellText(JSON.stringify(body, null, 2)).replaceAll('\n', '\n  ')}'`,
  ].join('\n');
  return (
    <Card
      id="first-request"
      title="First request"
      actions={
        <a class="button small" href="/docs">
          API reference
        </a>
      }
    >
      <p class="small muted">
        Put the secret into <code>DARKROOM_API_KEY</code>. The request waits up to 60 seconds for its picture.
      </p>
      <Copyable text={request} what="the request" />
    </Card>
  );
}

/** A text between the single quotes of a shell. */
function shellText(text: string): string {
  return text.replaceAll("'", String.raw`'\''`);
}

const POLL_MS = 2_000;

interface FirstResultProps {
  readonly keyId: string;
  readonly keyName: string;
  readonly used: () => Promise<void>;
}

/** The first generation of a new key, as soon as there is one. */
function FirstResult({ keyId, keyName, used }: FirstResultProps) {
  const [hasEnded, setEnded] = useState(false);
  const { value } = useData<{ readonly generations: readonly AccountGeneration[] }>(
    `/generations?limit=1&credential_id=${keyId}`,
    hasEnded ? {} : { everyMs: POLL_MS },
  );
  const task = value?.generations[0];
  const status = task?.status;
  useEffect(() => {
    if (status === undefined || status === 'queued' || status === 'running') return;
    setEnded(true);
    say(capitalized(status));
    void used();
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [status]);
  return (
    <Card id="first-result" title="Result">
      {task === undefined ? (
        <div class="empty">
          <Badge look="active">Listening</Badge>
          <p>{`Waiting for the first request with “${keyName}”. Its picture appears here, with what it cost.`}</p>
        </div>
      ) : (
        <Result generation={task} hasEnded={hasEnded} />
      )}
    </Card>
  );
}

function Result({ generation, hasEnded }: { readonly generation: AccountGeneration; readonly hasEnded: boolean }) {
  const { generation_id: id, status, error, charged_credits: charged } = generation;
  const [output] = generation.outputs;
  return (
    <div class="stack-s first-result">
      {output === undefined ? null : (
        <Picture
          output={output}
          thumbnails={thumbnailsOf(generation, output)}
          alt={generation.prompt ?? 'Output of the first request'}
          shownWidth="(max-width: 1180px) 90vw, 540px"
        />
      )}
      <div class="row wrap small">
        <Badge look={status === 'succeeded' ? 'ok' : hasEnded ? 'fail' : 'active'}>{capitalized(status)}</Badge>
        {hasEnded ? <span>{`${creditsText(charged)} charged`}</span> : null}
        <PlaceLink page="generations" id={id}>
          Open generation
        </PlaceLink>
      </div>
      <Fault text={error?.message} />
    </div>
  );
}

function capitalized(word: string): string {
  return word.replace(/^./, (first) => first.toUpperCase());
}
