import { useState } from 'preact/hooks';
import { dateText, SCOPE_TEXTS, textOf } from '../format.js';
import { ChecksField, SelectField, TextField } from '../parts/form.js';
import type { MenuItem } from '../parts/overlays.js';
import { askItem } from '../parts/table.js';
import { change } from '../server.js';
import type { App, NewKey, Overview, Scope } from '../server-types.js';

const DAY_MS = 86_400_000;
const NEVER = 'never';
const DATE = 'date';
const EXPIRIES = [
  [NEVER, 'Never'],
  ['7', 'After 7 days'],
  ['30', 'After 30 days'],
  ['90', 'After 90 days'],
  [DATE, 'On a date…'],
] as const;

/** The fields of a new key: its name, App, scopes, limit and expiry. `askedKey` reads the fields. */
export function KeyFields({
  overview,
  currency,
  apps,
}: {
  overview: Overview;
  currency: string;
  apps: readonly App[];
}) {
  const [expiry, setExpiry] = useState(NEVER);
  return (
    <>
      <div class="fields">
        <TextField
          label="Name"
          name="name"
          hint="Where the key is used, such as “shop backend”."
          required
          maxLength={100}
        />
        {/* An account with one App has nothing to choose. */}
        {apps.length < 2 ? null : (
          <SelectField
            label="App"
            name="app"
            hint="The key sees only what its App has made."
            options={apps.map(({ id, name }, index) => [id, `${name ?? id}${index === 0 ? ' (default)' : ''}`])}
          />
        )}
      </div>
      <ChecksField
        legend="Scopes"
        name="scope"
        pointer="/scopes"
        class="checks"
        options={overview.scopes.map((value) => ({ value, text: SCOPE_TEXTS[value], note: <code>{value}</code> }))}
        chosen={overview.default_scopes}
      />
      <div class="fields">
        <TextField
          label="Monthly limit"
          note={`optional, in ${currency}`}
          hint="The most that the key may spend in a calendar month (UTC)."
          name="cap"
          pointer="/monthly_cap"
          inputMode="numeric"
          pattern="[1-9][0-9]*"
          title="A whole number of at least 1"
          maxLength={15}
          placeholder="No limit"
        />
        <SelectField
          label="Expires"
          hint={expiryHint(expiry)}
          name="expiry"
          pointer={expiry === DATE ? undefined : '/expires_at'}
          chosen={expiry}
          changed={setExpiry}
          options={EXPIRIES}
        />
        {expiry === DATE ? (
          <TextField
            label="Last day"
            hint="The key works until its end, in your time zone."
            name="last-day"
            pointer="/expires_at"
            type="date"
            min={tomorrow()}
            required
          />
        ) : null}
      </div>
    </>
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

/** The item that revokes a key, by the path of that. `said` reports it. */
export function revokeItem(name: string, path: string, said: (sentence: string) => Promise<void>): MenuItem {
  return askItem('Revoke…', 'ban', {
    title: `Revoke the key “${name}”?`,
    text: 'Programs that use it are refused within 5 seconds. This can’t be undone.',
    doIt: 'Revoke key',
    busyText: 'Revoking…',
    act: () => change(path),
    done: () => said(`The key ${name} is revoked.`),
  });
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
