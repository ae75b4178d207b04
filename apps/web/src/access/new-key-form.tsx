import { useState } from 'preact/hooks';
import { textOf } from '../form-text.js';
import { SCOPE_TEXTS } from '../format.js';
import { change, sentenceOf } from '../server.js';
import type { Data } from '../use-data.js';
import type { App, NewKey, Overview, Scope } from '../server-types.js';

/** A key with the secret that its maker sees. */
export interface MadeKey {
  readonly name: string;
  readonly secret: string;
}

interface NewKeyFormProps {
  readonly overview: Overview;
  readonly apps: Data<{ readonly apps: readonly App[] }>;
  readonly onMade: (key: MadeKey) => void;
}

export function NewKeyForm({ overview, apps, onMade }: NewKeyFormProps) {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setFault(undefined);
    try {
      const asked = askedKey(form);
      const { secret } = await change<{ readonly secret: string }>('/keys', asked);
      onMade({ name: asked.name, secret });
    } catch (error) {
      setFault(sentenceOf(error));
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)} autocomplete="off">
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
        <p id="new-key-fault" class="fault" role="alert">
          {fault}
        </p>
      )}
      <button type="submit" aria-busy={isBusy} disabled={isBusy}>
        Make key
      </button>
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
