import { Kept } from "../../runtime/Kept.ts"

/** What the beginning of each transaction reads of the database. */
export interface Begun {
  readonly version: number
  readonly life: string
  /** How many ids of documents and passages have been given out. */
  readonly given: number
}

/**
 * A server that was started since may lack writes that were seen. Tables that were made anew or emptied, a row that was
 * written anew, and a database that took another one's place, come from elsewhere: a table's file, which the key has too,
 * tells its database. The key is missing until pg_restore has put all rows.
 */
export const begun = `SELECT version,
  concat_ws(' ', pg_postmaster_start_time(), tableoid, xmin, pg_relation_filepath(to_regclass('vectors_pkey'))) AS life,
  (SELECT coalesce(sum(next), 0) FROM row_ids) AS given FROM clew`

/** Lives that are told from new ones when they come again, as behind a proxy that leads to several servers. */
const mostKnown = 16

/** As many as blocks of codes can be told apart by (`codes/Scanner.ts`). */
const mostEras = 2 ** 20

/**
 * Numbers the lives of a database. After a restore, or a failover to a standby that lacks the last writes, ids, versions
 * and counts of changes are given again for other rows: what was read before is then of another era.
 */
export const makeLives = () => {
  const eras = new Kept<string, number>(mostKnown)
  let last = 0
  /** Tells the era of each of some transactions that follow one another. */
  return () => {
    let before = { life: "", given: 0, era: 0 }
    return ({ given, life }: Begun): number => {
      const known = eras.get(life)
      // Others have seen it by now if the era is not the one before.
      const isBack = life === before.life && known === before.era && given < before.given
      if (known === undefined || isBack) eras.add(life, (last = (last + 1) % mostEras))
      before = { life, given, era: eras.get(life)! }
      return before.era
    }
  }
}
