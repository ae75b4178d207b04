import { announce } from '../announce.js';
import { numberText, timeText } from '../format.js';
import { Card, Fact, Figures, focusOn, Loaded, PageLink } from '../parts/parts.js';
import { CancelButton } from './act-button.js';
import { ageText, type Work } from './server-types.js';
import { hrefOfPlace, MoreButton, usePages } from './use-pages.js';

interface Answer {
  readonly now: string;
  readonly work: readonly Work[];
  readonly next_cursor?: string;
}

/** The generations of all accounts that hold credits: queued, running, and ended but not settled. */
export function WorkList({ refused }: { readonly refused: () => void }) {
  const work = usePages<'work', Work, Answer>('/operator/work', 'work');
  const again = async (sentence: string): Promise<void> => {
    await work.reload();
    announce(sentence);
    focusOn('work');
  };
  return (
    <Card id="work" title="Of all accounts" note="The oldest first. Credits are held for each of these.">
      <Loaded data={work} what="open work">
        {({ now }) => (
          <>
            <Ages work={work.items} now={now} hasMore={work.more !== undefined} />
            {work.items.length === 0 ? (
              <p class="empty">Nothing is open: no credits are held.</p>
            ) : (
              <ul class="rows">
                {work.items.map((one) => (
                  <WorkRow key={one.generation_id} work={one} now={now} again={again} refused={refused} />
                ))}
              </ul>
            )}
            <div class="actions below">
              <MoreButton pages={work} what="open work" />
              <button
                type="button"
                class="outline secondary small"
                onClick={() => void again('The list is up to date.')}
              >
                Read again
              </button>
            </div>
          </>
        )}
      </Loaded>
    </Card>
  );
}

interface AgesProps {
  readonly work: readonly Work[];
  readonly now: string;
  readonly hasMore: boolean;
}

/** The oldest hold of all, and what has waited and run longest of those that are shown, which are the oldest. */
function Ages({ work, now, hasMore }: AgesProps) {
  const figure = (name: string, among: readonly Work[]) => {
    const since = among[0]?.held_at;
    return {
      name,
      value: since === undefined ? 'none' : ageText(since, now),
      note: `${numberText(among.length)}${hasMore ? ' of the oldest' : ' in all'}`,
    };
  };
  const figures = [
    figure('Oldest hold', work),
    figure('Waiting longest', withStatus(work, 'queued')),
    figure('Running longest', withStatus(work, 'running')),
  ];
  return <Figures figures={figures} isNarrow />;
}

function withStatus(work: readonly Work[], status: 'queued' | 'running'): readonly Work[] {
  return work.filter(({ generation }) => generation?.status === status);
}

interface WorkRowProps {
  readonly work: Work;
  readonly now: string;
  readonly again: (sentence: string) => Promise<void>;
  readonly refused: () => void;
}

function WorkRow({ work, now, again, refused }: WorkRowProps) {
  const { generation } = work;
  return (
    <li>
      <div class="row-head">
        <h3>
          {generation === undefined ? (
            'No generation'
          ) : (
            <PageLink href={hrefOfPlace({ name: 'work', id: work.generation_id })}>{generation.model_key}</PageLink>
          )}
          <span class="badge">{statusText(work)}</span>
        </h3>
        {generation?.status === 'queued' || generation?.status === 'running' ? (
          <CancelButton generation={generation} done={again} refused={refused} />
        ) : null}
      </div>
      <dl class="facts">
        <div>
          <dt>Account</dt>
          <dd>
            <PageLink href={hrefOfPlace({ name: 'accounts', id: work.account_id })}>
              {work.account_name ?? work.account_id}
            </PageLink>
          </dd>
        </div>
        <Fact name="For" text={ageText(work.held_at, now)} />
        <Fact name="Since" text={timeText(work.held_at)} />
        <Fact name="Held" text={numberText(work.held_credits)} />
        {generation?.provider === undefined ? null : <Fact name="Provider" text={generation.provider} />}
        <Fact name="Generation id" text={work.generation_id} />
      </dl>
    </li>
  );
}

function statusText({ generation }: Work): string {
  if (generation === undefined) return 'created right now, or cut off';
  const { status, cancel_requested_at: askedAt } = generation;
  if (status === 'running' && askedAt !== undefined) return 'asked to stop';
  return status === 'queued' || status === 'running' ? status : `${status}, not settled`;
}
