use super::*;
use crate::args::Cli;
use clap::CommandFactory;

/// A page as plain text, near enough to search in.
fn text(page: &ManualPage) -> String {
    String::from_utf8(page.1.clone())
        .unwrap()
        .replace("\\-", "-")
        .replace("\\fR", "")
        .replace("\\fB", "")
}

#[test]
fn every_command_has_a_page_with_its_options() {
    let pages = pages(Cli::command()).unwrap();
    let program = Cli::command();
    let commands: Vec<_> =
        program.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    assert_eq!(pages.len(), commands.len() + 1);
    for command in commands {
        let name = format!("wirelap-{}.1", command.get_name());
        let page = text(pages.iter().find(|(page, _)| *page == name).expect(&name));
        let options = command.get_arguments().filter(|option| !option.is_hide_set());
        for long in options.filter_map(clap::Arg::get_long) {
            assert!(page.contains(&format!("--{long}")), "{name} has no --{long}");
        }
        assert!(text(&pages[0]).contains(&format!("wirelap-{}(1)", command.get_name())));
    }
}

#[test]
fn examples_keep_their_lines_and_the_exit_status_has_a_section() {
    let page = text(&pages(Cli::command()).unwrap()[0]);
    assert!(page.contains(".SH EXAMPLES\n.nf\nwirelap doctor"), "{page}");
    assert!(page.contains("\nwirelap analyze trace.pcapng\n"), "{page}");
    assert!(page.contains(".fi\n.SH \"EXIT STATUS\"\n0 success"), "{page}");
    assert!(!page.contains("wirelap-manual"), "{page}");
}
