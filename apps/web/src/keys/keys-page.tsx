import { announce } from '../parts/toasts.js';
import { dateText, dayText, numberText, SCOPE_TEXTS, textOf } from '../format.js';
import { ConfirmButton, Copyable, ShownOnce, SubmitButton } from '../parts/buttons.js';
import { Card, Loaded, Page, type PageProps, Row, Rows } from '../parts/parts.js';
import type { App, Key, NewKey, Overview, Scope } from '../server-types.js';
import { change } from '../server.js';
import { afterChange, type Data, useAction, useData, useShownOnce, focusOn } from '../use-data.js';

interface KeyListProps {
  readonly keys: Data<{ readonly keys: readonly Key[]; readonly total: number }>;
  readonly currency: string;
}

/** The keys of the account, those that work first. */
export function KeyList({ keys, currency }: KeyListProps) {
  const said = afterChange(keys.reload, 'keys');
  return (
    <Card id="keys" title="API keys" note="Of everybody in the account.">
      <Loaded data={keys} what="keys">
        {({ keys: shown, total }) => (
          <>
            <Rows items={shown} empty="There are no keys yet. Name one above, and make it.">
              {(key) => <KeyRow key={key.id} shown={key} currency={currency} said={said} />}
            </Rows>
            {total > shown.length ? (
              <p class="small muted">{`${numberText(shown.length)} of ${numberText(total)} keys are shown.`}</p>
            ) : null}
          </>
        )}
      </Loaded>
    </Card>
  );
}

interface KeyRowProps {
  readonly shown: Key;
  readonly currency: string;
  readonly said: (sentence: string) => Promise<void>;
}

function KeyRow({ shown: key, currency, said }: KeyRowProps) {
  const { monthly_cap: cap, expires_at: expiresAt } = key;
  const used = cap === null ? undefined : `${numberText(key.used_this_month ?? 0)} of ${numberText(cap)} ${currency}`;
  return (
    <Row
      title={key.name}
      badge={stateOf(key)}
      isOver={key.is_over}
      actions={
        key.is_over ? null : (
          <ConfirmButton
            label="Revoke"
            fullLabel={`Revoke the key ${key.name}`}
            question={`Revoke the key “${key.name}”?`}
            consequence="Programs that use it are refused within seconds. This cannot be undone."
            doIt="Revoke the key"
            action={() => change(`/keys/${key.id}/revoke`)}
            done={() => said(`The key ${key.name} is revoked.`)}
          />
        )
      }
      facts={[
        ['App', key.app.name ?? key.app.id],
        ['Made', dateText(key.created_at)],
        ['Last used', key.last_used_on === null ? 'never' : dayText(key.last_used_on)],
        ['Expires', key.is_over ? undefined : expiresAt === null ? 'never' : dateText(expiresAt)],
        ['This month', used],
        ['May', scopesText(key.scopes)],
      ]}
    />
  );
}

function scopesText(scopes: readonly Scope[]): string {
  if (scopes.length === Object.keys(SCOPE_TEXTS).length) return 'everything';
  return listText(scopes.map((scope) => SCOPE_TEXTS[scope]));
}

/** Sentences without a full stop as one text. */
export function listText(sentences: readonly string[]): string {
  return sentences.map((sentence) => sentence.replace(/^./, (first) => first.toLowerCase())).join('; ');
}

function stateOf({ revoked_at: revokedAt, expires_at: expiresAt, is_over: isOver }: Key): string | undefined {
  if (revokedAt !== null) return `revoked ${dateText(revokedAt)}`;
  return isOver && expiresAt !== null ? `expired ${dateText(expiresAt)}` : undefined;
}

/** A key with the secret that its maker sees. */
interface MadeKey {
  readonly name: string;
  readonly secret: string;
}

interface NewKeyFormProps {
  readonly overview: Overview;
  readonly apps: Data<{ readonly apps: readonly App[] }>;
  readonly onMade: (key: MadeKey) => void;
}

function NewKeyForm({ overview, apps, onMade }: NewKeyFormProps) {
  const { isBusy, fault, run } = useAction();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    void run(async () => {
      const asked = askedKey(form);
      const { secret } = await change<{ readonly secret: string }>('/keys', asked);
      onMade({ name: asked.name, secret });
    });
  };
  return (
    <form onSubmit={submit} autocomplete="off">
      <label>
        Name
        <input
          name="name"
          required
          maxLength={100}
          placeholder="laptop"
          aria-invalid={fault === undefined ? undefined : true}
          aria-describedby={fault === undefined ? undefined : 'new-key-fault'}
        />
      </label>
      <details>
        <summary>What it may do, and for how long</summary>
        <fieldset>
          <legend>It may</legend>
          {overview.scopes.map((scope) => (
            <label key={scope}>
              <input
                type="checkbox"
                name="scope"
                value={scope}
                defaultChecked={overview.default_scopes.includes(scope)}
              />
              {SCOPE_TEXTS[scope]}
            </label>
          ))}
        </fieldset>
        <div class="fields">
          <label>
            Last day
            <input type="date" name="expiry" min={tomorrow()} aria-describedby="expiry-note" />
            <small id="expiry-note">Empty: until it is revoked.</small>
          </label>
          <label>
            Spend at most in a month
            <input inputMode="numeric" pattern="[0-9]*" maxLength={15} name="cap" aria-describedby="cap-note" />
            <small id="cap-note">{`In ${overview.account.currency}, months in UTC. Empty: no limit.`}</small>
          </label>
        </div>
        <AppChoice apps={apps} />
      </details>
      {fault === undefined ? null : (
        <p id="new-key-fault" class="attention bad" role="alert">
          {fault}
        </p>
      )}
      <SubmitButton isBusy={isBusy}>Make key</SubmitButton>
    </form>
  );
}

/** An account with one App has nothing to choose. */
function AppChoice({ apps: { value } }: Pick<NewKeyFormProps, 'apps'>) {
  const apps = value?.apps ?? [];
  if (apps.length < 2) return null;
  return (
    <label>
      App
      <select name="app" aria-describedby="app-note">
        {apps.map(({ id, name }, index) => (
          <option key={id} value={id}>
            {index === 0 ? `${name ?? id} (default)` : (name ?? id)}
          </option>
        ))}
      </select>
      <small id="app-note">A key sees only what its App has made.</small>
    </label>
  );
}

function askedKey(form: FormData): NewKey {
  const text = (name: string): string => textOf(form, name).trim();
  const [expiry, cap, app] = [text('expiry'), text('cap'), text('app')];
  return {
    name: text('name'),
    scopes: form.getAll('scope') as Scope[],
    ...(expiry === '' ? {} : { expires_at: endOfDay(expiry) }),
    ...(cap === '' ? {} : { monthly_cap: Number(cap) }),
    ...(app === '' ? {} : { app_id: app }),
  };
}

/** The end of a day, `YYYY-MM-DD`, where the reader is. */
function endOfDay(day: string): string {
  return new Date(`${day}T23:59:59`).toISOString();
}

function tomorrow(): string {
  const day = new Date(Date.now() + 86_400_000);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

interface NewKeyCardProps {
  readonly overview: Overview;
  readonly apps: Data<{ readonly apps: readonly App[] }>;
  readonly keysChanged: () => Promise<void>;
}

/** Makes a key, and shows its secret until the person has it. */
export function NewKeyCard({ overview, apps, keysChanged }: NewKeyCardProps) {
  const [made, setMade, close] = useShownOnce<MadeKey>('new-key');
  const show = (key: MadeKey): void => {
    setMade(key);
    announce('The key was made. Copy its secret now.');
    focusOn('new-key');
    void keysChanged();
  };
  return (
    <Card
      id="new-key"
      title={made ? `Your new key “${made.name}”` : 'New API key'}
      note={made ? undefined : 'Give it a name that tells you later where it is used. The rest is optional.'}
    >
      {made ? (
        <ShownOnce secret={made.secret} onDone={close}>
          <strong>Copy the secret now. It is shown this once</strong>, and nobody can find it out later. Whoever has it
          can use the key.
        </ShownOnce>
      ) : (
        <NewKeyForm overview={overview} apps={apps} onMade={show} />
      )}
    </Card>
  );
}

/** Keys, and how to begin with one. */
export function KeysPage({ overview }: PageProps) {
  const keys = useData<{ readonly keys: readonly Key[]; readonly total: number }>('/keys');
  const apps = useData<{ readonly apps: readonly App[] }>('/apps');
  return (
    <Page title="API keys">
      <div class="stack">
        <NewKeyCard overview={overview} apps={apps} keysChanged={keys.reload} />
        <KeyList keys={keys} currency={overview.account.currency} />
        {overview.first_request === null ? null : (
          <FirstRequest baseUrl={overview.base_url} body={overview.first_request} />
        )}
      </div>
    </Page>
  );
}

/** A request that works once the key is put into it. */
function FirstRequest({ baseUrl, body }: { readonly baseUrl: string; readonly body: object }) {
  const request = [
    `curl ${baseUrl}/api/v1/developer/generations \\`,
    '  -H "Authorization: Bearer $DARKROOM_API_KEY" \\',
    '  -H "Idempotency-Key: $(date +%s)" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`,
  ].join('\n');
  return (
    <Card
      id="first-request"
      title="A first request"
      note="Put the secret of a key into DARKROOM_API_KEY. The answer has an id to ask for the picture with."
    >
      <Copyable text={request} what="the request" />
      <p>
        <a href="/docs">All requests are in the API reference</a>
      </p>
    </Card>
  );
}
