import { announce } from '../announce.js';
import { dateText, dayText, numberText, SCOPE_TEXTS } from '../format.js';
import { Card, focusOn } from '../parts/card.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { Fact } from '../parts/fact.js';
import { Loaded } from '../parts/loaded.js';
import { change } from '../server.js';
import type { Key, Scope } from '../server-types.js';
import type { Data } from '../use-data.js';

interface KeyListProps {
  readonly keys: Data<{ readonly keys: readonly Key[]; readonly total: number }>;
  readonly currency: string;
}

/** The keys of the account, those that work first. */
export function KeyList({ keys, currency }: KeyListProps) {
  const revoked = async ({ name }: Key): Promise<void> => {
    await keys.reload();
    announce(`The key ${name} is revoked.`);
    focusOn('keys');
  };
  return (
    <Card id="keys" title="API keys" note="Of everybody in the account.">
      <Loaded data={keys} what="keys">
        {({ keys: shown, total }) =>
          shown.length === 0 ? (
            <p class="empty">There are no keys yet. Name one above, and make it.</p>
          ) : (
            <>
              <ul class="rows">
                {shown.map((key) => (
                  <KeyRow key={key.id} shown={key} currency={currency} revoked={revoked} />
                ))}
              </ul>
              {total > shown.length ? (
                <p class="quiet">{`${numberText(shown.length)} of ${numberText(total)} keys are shown.`}</p>
              ) : null}
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

interface KeyRowProps {
  readonly shown: Key;
  readonly currency: string;
  readonly revoked: (key: Key) => Promise<void>;
}

function KeyRow({ shown: key, currency, revoked }: KeyRowProps) {
  const state = stateOf(key);
  return (
    <li class={key.is_over ? 'over' : undefined}>
      <div class="row-head">
        <h3>
          {key.name}
          {state === undefined ? null : <span class="badge">{state}</span>}
        </h3>
        {key.is_over ? null : (
          <ConfirmButton
            label="Revoke"
            fullLabel={`Revoke the key ${key.name}`}
            question={`Revoke the key “${key.name}”?`}
            consequence="Programs that use it are refused within seconds. This cannot be undone."
            doIt="Revoke the key"
            action={() => change(`/keys/${key.id}/revoke`)}
            done={() => revoked(key)}
          />
        )}
      </div>
      <dl class="facts">
        <Fact name="App" text={key.app.name ?? key.app.id} />
        <Fact name="Made" text={dateText(key.created_at)} />
        <Fact name="Last used" text={key.last_used_on === null ? 'never' : dayText(key.last_used_on)} />
        {key.is_over ? null : (
          <Fact name="Expires" text={key.expires_at === null ? 'never' : dateText(key.expires_at)} />
        )}
        {key.monthly_cap === null ? null : (
          <Fact
            name="This month"
            text={`${numberText(key.used_this_month ?? 0)} of ${numberText(key.monthly_cap)} ${currency}`}
          />
        )}
        <Fact name="May" text={scopesText(key.scopes)} />
      </dl>
    </li>
  );
}

export function scopesText(scopes: readonly Scope[]): string {
  if (scopes.length === Object.keys(SCOPE_TEXTS).length) return 'everything';
  return scopes.map((scope) => SCOPE_TEXTS[scope].replace(/^./, (first) => first.toLowerCase())).join('; ');
}

function stateOf({ revoked_at: revokedAt, expires_at: expiresAt, is_over: isOver }: Key): string | undefined {
  if (revokedAt !== null) return `revoked ${dateText(revokedAt)}`;
  return isOver && expiresAt !== null ? `expired ${dateText(expiresAt)}` : undefined;
}
