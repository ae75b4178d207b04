import { useState } from 'preact/hooks';
import { numberText, timeText } from '../format.js';
import { SmallButton } from '../parts/buttons.js';
import { Card, Fact, Loaded, PageLink } from '../parts/parts.js';
import { afterChange, useData } from '../use-data.js';
import { CancelButton } from './act-button.js';
import type { Content, Generation } from './server-types.js';
import { hrefOfPlace } from './use-pages.js';
import { isOpen } from './work-list.js';

/** One generation of any account; what its client asked for only on request. */
export function GenerationPage({ id }: { readonly id: string }) {
  const path = `/operator/generations/${encodeURIComponent(id)}`;
  const generation = useData<{ readonly generation: Generation }>(path);
  return (
    <>
      <p class="back">
        <PageLink href={hrefOfPlace({ name: 'work' })}>Open work</PageLink>
      </p>
      <Loaded data={generation} what="the generation">
        {({ generation: shown }) => (
          <>
            <GenerationCard generation={shown} done={afterChange(generation.reload, 'generation')} />
            <ContentCard path={`${path}/content`} />
          </>
        )}
      </Loaded>
    </>
  );
}

interface GenerationCardProps {
  readonly generation: Generation;
  readonly done: (sentence: string) => Promise<void>;
}

function GenerationCard({ generation: g, done }: GenerationCardProps) {
  const open = isOpen(g);
  return (
    <Card id="generation" title={`${g.model_key}, ${g.status}`}>
      {g.error === undefined ? null : <p class="fault">{`${g.error.message} (${g.error.code})`}</p>}
      <dl class="facts">
        <Fact name="Generation id" text={g.generation_id} />
        <Fact
          name="Account"
          text={<PageLink href={hrefOfPlace({ name: 'accounts', id: g.account_id })}>{g.account_id}</PageLink>}
        />
        <Fact name="App" text={g.app_id} />
        <Fact name="Created" text={timeText(g.created_at)} />
        <Fact name="Ended" text={g.completed_at && timeText(g.completed_at)} />
        <Fact name="Cancel asked" text={g.cancel_requested_at && timeText(g.cancel_requested_at)} />
        <Fact name={open ? 'Reserved' : 'Charged'} text={numberText(open ? g.reserved_credits : g.charged_credits)} />
        <Fact name="Attempts" text={numberText(g.attempts)} />
        <Fact name="Provider" text={g.provider} />
        <Fact name="Worker" text={g.worker} />
        <Fact name="Outputs" text={numberText(g.output_count)} />
        <Fact name="Trace id" text={g.client_trace_id} />
      </dl>
      {open ? (
        <div class="actions below">
          <CancelButton generation={g} done={done} />
        </div>
      ) : null}
    </Card>
  );
}

function ContentCard({ path }: { readonly path: string }) {
  const [isWanted, setWanted] = useState(false);
  return (
    <Card id="content" title="What its client asked for" note="It belongs to the client. That you read it is recorded.">
      {isWanted ? (
        <ShownContent path={path} />
      ) : (
        <SmallButton onClick={() => setWanted(true)}>Show the prompt</SmallButton>
      )}
    </Card>
  );
}

function ShownContent({ path }: { readonly path: string }) {
  const content = useData<Content>(path);
  return (
    <Loaded data={content} what="the prompt">
      {({ prompt, negative_prompt: negative, parameters, reference_upload_ids: references }) => (
        <dl class="facts tall">
          <Fact name="Prompt" text={prompt === '' ? 'no longer kept' : prompt} />
          <Fact name="Negative prompt" text={negative} />
          <Fact name="Parameters" text={JSON.stringify(parameters)} />
          <Fact name="References" text={references.length === 0 ? undefined : references.join(' ')} />
        </dl>
      )}
    </Loaded>
  );
}
