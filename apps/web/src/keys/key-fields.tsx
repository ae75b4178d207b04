import { useState } from 'preact/hooks';
import { dateText, SCOPE_TEXTS, textOf } from '../format.js';
import { Field, FieldError } from '../parts/fields.js';
import type { App, NewKey, Overview, Scope } from '../server-types.js';

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

export function LimitField({ currency, error }: { readonly currency: string; readonly error: string | undefined }) {
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

export function ExpiryFields({ error }: { readonly error: string | undefined }) {
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

export function ScopesField({ overview, error }: { readonly overview: Overview; readonly error: string | undefined }) {
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
export function AppField({ apps }: { readonly apps: readonly App[] }) {
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

/** The key that the fields of a form ask for. */
export function askedKey(form: FormData): NewKey {
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
