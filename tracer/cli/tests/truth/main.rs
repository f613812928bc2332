//! The truth lab: situations with a known cause, arranged with programs that nobody here wrote, and what wirelap says about them.
//!
//! A situation is a folder below `truth/situations/` with a script, `arrange`, and an expectation, `expect.toml`; adding one
//! needs nothing else. Each is arranged with wirelap attached first and late, on a quiet machine and with both cores loaded.
//! `make test` tries the cells that are listed as `ci`, each a test of its own; `make truth` tries all, and writes the table.

mod cell;
mod judge;
mod said;
mod situation;
mod stage;
mod table;

use cell::Cell;
use judge::judge;
use libtest_mimic::{Arguments, Trial};
use situation::Situation;
use std::process::ExitCode;
use table::Row;

/// Arranges one cell and compares what was said with the truth.
fn try_cell(situation: &Situation, cell: Cell) -> Row {
    eprint!("{} ({cell}) … ", situation.name);
    let row = match stage::observe(situation, cell) {
        Ok(observed) => {
            let judgement = judge(&situation.expectation, cell, &observed);
            let [waited, busy] =
                [observed.cpu.waited, observed.cpu.busy].map(|share| 100.0 * share);
            eprint!("CPUs {busy:.0} % busy, waited for {waited:.0} % of the time … ");
            keep(situation, cell, &observed);
            Row::judged(situation, cell, &observed, &judgement)
        }
        Err(error) => Row::failed(situation, cell, &error),
    };
    eprintln!("{}", row.summary());
    row
}

/// Writes wirelap's JSON and the last lines of its screen to the folder that `TRUTH_REPORTS` names.
fn keep(situation: &Situation, cell: Cell, observed: &stage::Observed) {
    let Ok(folder) = std::env::var("TRUTH_REPORTS") else { return };
    let name = format!("{folder}/{} ({cell})", situation.name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(format!("{name}.json"), observed.report.to_string()).unwrap();
    std::fs::write(format!("{name}.txt"), &observed.screen).unwrap();
}

/// Every folder has a script and an expectation that can be read.
fn assert_situations(situations: &[Situation]) {
    assert!(situations.len() >= 60, "{} situations", situations.len());
    let ci = situations.iter().map(|situation| situation.expectation.ci.len());
    assert!(ci.sum::<usize>() > 0);
}

/// Panics unless what is said of a cell is true. Other tests share the machine, so the programs' own times are not compared.
fn assert_right(situation: &Situation, cell: Cell) {
    let row = try_cell(situation, cell);
    assert!(row.is_right_but_for_times(), "{}", row.explained());
}

/// `TRUTH_ONLY` chooses situations by their names, or by a part of them, `TRUTH_CELLS` cells (`first, quiet;late, loaded`),
/// `TRUTH_TABLE` names the file for the table (tab-separated), and `TRUTH_REPORTS` a folder for all that was said.
fn whole_lab() {
    let only = std::env::var("TRUTH_ONLY").unwrap_or_default();
    let cells = cell::chosen(&std::env::var("TRUTH_CELLS").unwrap_or_default());
    let table = std::env::var("TRUTH_TABLE").ok();
    let mut rows = Vec::new();
    for situation in situation::chosen(&only) {
        for &cell in situation.expectation.cells.iter().filter(|cell| cells.contains(cell)) {
            rows.push(try_cell(&situation, cell));
            // Whoever ends the lab early keeps what was tried.
            if let Some(path) = &table {
                std::fs::write(path, table::tab_separated(&rows)).unwrap();
            }
        }
    }
    if table.is_none() {
        print!("{}", table::tab_separated(&rows));
    }
    println!("{}", table::count(&rows));
}

/// A test that fails by panicking.
fn test(name: String, body: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        body();
        Ok(())
    })
}

fn main() -> ExitCode {
    let situations = situation::all();
    let cells = situations.iter().flat_map(|situation| {
        situation.expectation.ci.iter().map(|&cell| (situation.name.clone(), cell))
    });
    let mut tests: Vec<Trial> = cells
        .map(|(name, cell)| {
            let test_name = format!("{name}::{}", cell.to_string().replace(", ", "_"));
            test(test_name, move || assert_right(&situation::named(&name), cell))
        })
        .collect();
    tests.push(test("every_situation_can_be_read".into(), move || assert_situations(&situations)));
    tests.push(test("the_whole_lab".into(), whole_lab).with_ignored_flag(true));
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}
