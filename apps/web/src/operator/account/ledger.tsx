import { Fact } from '../../parts/fact.js';
import { numberText, timeText } from '../../format.js';
import { Card } from '../../parts/card.js';
import { Loaded } from '../../parts/loaded.js';
import { PageLink } from '../../parts/page-link.js';
import { MoreButton } from '../more-button.js';
import { hrefOfPlace } from '../places.js';
import type { Entry } from '../server-types.js';
import type { Pages } from '../use-pages.js';

interface LedgerProps {
  readonly entries: Pages<'entries', Entry, { readonly entries: readonly Entry[] }>;
  readonly currency: string;
}

const KINDS: Readonly<Record<Entry['kind'], string>> = {
  grant: 'Grant',
  adjustment: 'Adjustment',
  hold: 'Hold',
  charge: 'Charge',
  release: 'Release',
};

/** The entries of the account, the newest first. */
export function Ledger({ entries, currency }: LedgerProps) {
  return (
    <Card id="ledger" title="Ledger" note={`The newest entry first, in ${currency}.`}>
      <Loaded data={entries} what="the ledger">
        {() =>
          entries.items.length === 0 ? (
            <p class="empty">There are no entries yet. Grant credits above.</p>
          ) : (
            <>
              <ul class="rows dense">
                {entries.items.map((entry) => (
                  <EntryRow key={entry.sequence} entry={entry} />
                ))}
              </ul>
              <MoreButton pages={entries} what="entries" />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

/** What an operator corrected has its sign; a charge moves credits that were reserved before. */
function amountText({ kind, credits, available_change: changed }: Entry): string {
  return numberText(kind === 'adjustment' ? changed : credits);
}

function EntryRow({ entry }: { readonly entry: Entry }) {
  return (
    <li>
      <div class="row-head">
        <h3>{`${KINDS[entry.kind]} ${amountText(entry)}`}</h3>
        <span class="quiet">{timeText(entry.at)}</span>
      </div>
      <dl class="facts">
        <Fact name="Available then" text={numberText(entry.available_after)} />
        {entry.reason === undefined || entry.reason === '' ? null : <Fact name="Reason" text={entry.reason} />}
        {entry.operator_email === undefined ? null : <Fact name="By" text={entry.operator_email} />}
        {entry.credential_name === undefined ? null : <Fact name="With" text={entry.credential_name} />}
        {entry.generation_id === undefined ? null : (
          <div>
            <dt>Generation</dt>
            <dd>
              <PageLink href={hrefOfPlace({ name: 'work', id: entry.generation_id })}>{entry.generation_id}</PageLink>
            </dd>
          </div>
        )}
      </dl>
    </li>
  );
}
